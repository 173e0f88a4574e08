import { expect, it } from "vitest";
import { ReadingEffort } from "../../src/grammar/reading-effort.ts";

it("ends what goes on for too long, as something that is not supported", () => {
  const effort = new ReadingEffort();
  effort.spend(30_000);
  effort.spend(20_000);

  expect(() => effort.spend(1)).toThrowError(
    expect.objectContaining({
      code: "unsupported",
      details: expect.objectContaining({ param: "response_format" }),
    }),
  );
});
