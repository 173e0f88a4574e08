import { expect, it } from "vitest";
import { RequestGroup } from "../../src/request/request-group.ts";

it("lets its requests go on when the last of them is prepared, in order", async () => {
  const group = new RequestGroup(3);
  const went: number[] = [];
  const go = (request: number) => group.prepared().then(() => went.push(request));

  const first = go(1);
  const second = go(2);
  await Promise.resolve();
  expect(went).toEqual([]);

  await Promise.all([first, second, go(3)]);
  expect(went).toEqual([1, 2, 3]);
});
