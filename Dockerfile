# One image serves the main service and the open test environment.
FROM node:24-slim AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc tsconfig.json ./
COPY packages/embedded-mongo/package.json packages/embedded-mongo/
RUN npm ci
COPY scripts scripts
COPY packages packages
COPY server server
COPY schemas schemas
COPY records records
COPY cloud cloud
COPY path-api path-api
RUN npm run build

# What `docker compose --profile test run --rm test` runs.
FROM build AS test
COPY . .
CMD ["npm", "run", "test:mongodb"]

FROM build AS product
RUN npm prune --omit=dev

FROM node:24-slim
ENV NODE_ENV=production HOST=0.0.0.0 DATA_DIR=/data PATH=$PATH:/app/bin
WORKDIR /app
COPY --from=product /app/package.json ./
COPY --from=product /app/node_modules node_modules
COPY --from=product /app/packages packages
COPY --from=product /app/dist dist
COPY bin bin
RUN ln -s health-record-service.mjs bin/health-record-service && mkdir -m 700 /data && chown node:node /data
USER node
HEALTHCHECK --interval=10s --timeout=5s --start-period=20s \
  CMD ["node", "-e", "fetch('http://127.0.0.1:' + (process.env.PORT ?? 1337) + '/health/ready').then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
VOLUME /data
EXPOSE 1337
CMD ["health-record-service"]
