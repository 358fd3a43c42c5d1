# One image runs the main service and the open test environment. A second image runs the tests.
#
#   docker build -t health-record-service .
#   docker build -t health-record-tests --target test .
#
# .ci/image/check builds both, starts the first like docker-compose.yml, and runs tests in the second.
FROM node:24-slim AS dependencies
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
COPY packages/embedded-mongo/package.json packages/embedded-mongo/
RUN npm ci

# `docker compose --profile test run --rm test` runs this stage. It copies all sources before one build: COPY keeps file
# times, so an earlier build would look newer than sources that are copied later, and the compiler would skip them.
FROM dependencies AS test
RUN apt-get update && apt-get install -y --no-install-recommends curl && rm -rf /var/lib/apt/lists/*
COPY . .
RUN npm run build
CMD ["npm", "run", "test:mongodb"]

FROM dependencies AS product
COPY tsconfig.json ./
COPY scripts scripts
COPY packages packages
COPY server server
COPY schemas schemas
COPY records records
COPY openehr openehr
COPY cloud cloud
COPY path-api path-api
RUN npm run build && npm prune --omit=dev
# The image contains neither tests nor files that only the compiler reads.
RUN rm -rf packages/*/dist/test packages/*/dist/testing.* && find dist packages/*/dist \( -name '*.d.ts' -o -name '*.tsbuildinfo' \) -delete

FROM node:24-slim
ENV NODE_ENV=production HOST=0.0.0.0 DATA_DIR=/data PATH=$PATH:/app/bin
WORKDIR /app
COPY --from=product /app/package.json ./
COPY --from=product /app/node_modules node_modules
COPY --from=product /app/packages/embedded-mongo/package.json packages/embedded-mongo/
COPY --from=product /app/packages/embedded-mongo/bin packages/embedded-mongo/bin
COPY --from=product /app/packages/embedded-mongo/dist packages/embedded-mongo/dist
COPY --from=product /app/dist dist
COPY bin bin
RUN ln -s health-record-service.mjs bin/health-record-service && mkdir -m 700 /data && chown node:node /data
USER node
HEALTHCHECK --interval=10s --timeout=5s --start-period=20s \
  CMD ["node", "-e", "fetch('http://127.0.0.1:' + (process.env.PORT ?? 1337) + '/health/ready').then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
VOLUME /data
EXPOSE 1337
CMD ["health-record-service"]
