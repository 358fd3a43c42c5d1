# One image runs the main service and the open test environment. A second image runs the tests.
#
#   docker build -t health-record-service .
#   docker build -t health-record-tests --target test .
#
# .ci/image/check builds both, starts the first like docker-compose.yml, and runs tests in the second.
FROM node:24-slim AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
COPY client/package.json client/
COPY console/package.json console/
COPY packages/embedded-mongo/package.json packages/embedded-mongo/
RUN npm ci
COPY . .
RUN npm run build

# `docker compose --profile test run --rm test` runs this stage.
FROM build AS test
RUN apt-get update && apt-get install -y --no-install-recommends curl && rm -rf /var/lib/apt/lists/*
CMD ["npm", "run", "test:mongodb"]

# The image contains what the package contains, with the dependencies of the lock file.
FROM build AS product
RUN npm pack --silent && npm prune --omit=dev && rm -r node_modules/@health-record-service node_modules/health-record-client && \
  mkdir product && tar -xzf health-record-service-*.tgz -C product --strip-components=1

FROM node:24-slim
ENV NODE_ENV=production HOST=0.0.0.0 DATA_DIR=/data PATH=$PATH:/app/bin
WORKDIR /app
COPY --from=product /app/node_modules node_modules
COPY --from=product /app/product .
RUN ln -s health-record-service.mjs bin/health-record-service && mkdir -m 700 /data && chown node:node /data
USER node
HEALTHCHECK --interval=10s --timeout=5s --start-period=20s \
  CMD ["node", "-e", "fetch('http://127.0.0.1:' + (process.env.PORT ?? 1337) + '/health/ready').then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
VOLUME /data
EXPOSE 1337
CMD ["health-record-service"]
