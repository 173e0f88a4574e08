import { defineConfig } from "vitest/config";

export default defineConfig({
  resolve: { conditions: ["@baton/source"] },
  ssr: { resolve: { conditions: ["@baton/source"] } },
  test: {
    // To end what hangs, not to measure: machines are shared.
    testTimeout: 30_000,
    hookTimeout: 60_000,
    projects: [
      {
        extends: true,
        test: {
          name: "units",
          maxWorkers: "100%",
          include: ["packages/*/test/**/*.test.ts", "test/**/*.test.ts"],
          exclude: ["test/e2e/**", "test/containers/**", "**/node_modules/**"],
          benchmark: { include: ["packages/*/bench/**/*.bench.ts"] },
        },
      },
      {
        // Whole clusters of processes, with bounds in time: one after the other, when nothing else runs. A shared machine may miss
        // a bound once, so a second try counts; `npm test` names each test that needed it.
        extends: true,
        test: {
          name: "e2e",
          retry: 1,
          include: ["test/e2e/**/*.test.ts"],
          benchmark: { include: [] },
          maxWorkers: 1,
          sequence: { groupOrder: 1 },
        },
      },
      {
        // Whole clusters of containers, where there is a Docker engine.
        extends: true,
        test: {
          name: "containers",
          retry: 1,
          include: ["test/containers/**/*.test.ts"],
          benchmark: { include: [] },
          globalSetup: ["test/support/containers/build-image.ts"],
          maxWorkers: 1,
          sequence: { groupOrder: 2 },
        },
      },
    ],
  },
});
