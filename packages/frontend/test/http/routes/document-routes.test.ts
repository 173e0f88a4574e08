import { expect, it } from "vitest";
import { apiRigs } from "../../support/rigs.ts";

const rigWith = apiRigs();

it("describes the API to programs and to people", async () => {
  const rig = await rigWith({ maxStopTexts: 7 });

  const json = await fetch(`${rig.url}/openapi.json`);
  const page = await fetch(`${rig.url}/docs`);

  expect(json.headers.get("content-type")).toBe("application/json; charset=utf-8");
  expect(await json.text()).toContain('"maxItems":7');
  expect(page.headers.get("content-type")).toBe("text/html; charset=utf-8");
  expect(page.headers.get("content-security-policy")).toContain("default-src 'none'");
  expect(page.headers.get("x-request-id")).toMatch(/^req-/);
  const text = await page.text();
  expect(text).toContain("/v1/chat/completions");
  expect(text).toContain("sampling_params.temperature");
});
