import { defineConfig } from "vitest/config";

export default defineConfig({
  resolve: { conditions: ["@baton/source"] },
  ssr: { resolve: { conditions: ["@baton/source"] } },
  test: {
    include: ["packages/*/test/**/*.test.ts", "test/**/*.test.ts"],
    benchmark: { include: ["packages/*/bench/**/*.bench.ts"] },
  },
});
