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
RUN npm run build && npm prune --omit=dev

FROM node:24-slim
ENV NODE_ENV=production HOST=0.0.0.0 DATA_DIR=/data
WORKDIR /app
COPY --from=build /app/package.json ./
COPY --from=build /app/node_modules node_modules
COPY --from=build /app/packages packages
COPY --from=build /app/dist dist
RUN mkdir -m 700 /data && chown node:node /data
USER node
VOLUME /data
EXPOSE 1337
CMD ["node", "--enable-source-maps", "dist/server/main.js"]
