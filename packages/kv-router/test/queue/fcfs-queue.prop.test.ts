import { requestId } from "@baton/protocol";
import fc from "fast-check";
import { expect, it } from "vitest";
import { createFcfsQueue, type QueuedRequest } from "../../src/index.ts";

type Step =
  | { readonly do: "enqueue"; readonly name: string; readonly deadlineMs: number }
  | { readonly do: "take" }
  | { readonly do: "cancel"; readonly name: string }
  | { readonly do: "expire" }
  | { readonly do: "clear" };

const name = fc.constantFrom("a", "b", "c", "d", "e", "f");
const steps = fc.array(
  fc.oneof(
    {
      weight: 4,
      arbitrary: fc.record({
        do: fc.constant("enqueue" as const),
        name,
        deadlineMs: fc.oneof(
          fc.integer({ min: 0, max: 60 }),
          fc.constant(Number.POSITIVE_INFINITY),
        ),
      }),
    },
    { weight: 2, arbitrary: fc.constant({ do: "take" as const }) },
    { weight: 2, arbitrary: fc.record({ do: fc.constant("cancel" as const), name }) },
    { weight: 1, arbitrary: fc.constant({ do: "expire" as const }) },
    { weight: 1, arbitrary: fc.constant({ do: "clear" as const }) },
  ),
  { maxLength: 60 },
);

it("behaves like a list of at most `limit` requests", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: 4 }),
      fc.constantFrom("refuse_newest" as const, "drop_oldest" as const),
      steps,
      (limit, whenFull, taken) => {
        const queue = createFcfsQueue<number>({ limit, whenFull });
        let model: QueuedRequest<number>[] = [];
        taken.forEach((step, nowMs) => {
          model = check(queue, model, step, nowMs, { limit, whenFull });
          expect(queue.size).toBe(model.length);
          expect(queue.head()).toEqual(model[0]);
          for (const { deadlineMs } of model) {
            expect(queue.nextDeadlineMs).toBeLessThanOrEqual(deadlineMs);
          }
        });
        const { entered, dispatched, cancelled, expired, dropped } = queue.counters;
        expect(entered).toBe(dispatched + cancelled + expired + dropped + queue.size);
      },
    ),
    { numRuns: 500 },
  );
});

function check(
  queue: ReturnType<typeof createFcfsQueue<number>>,
  model: QueuedRequest<number>[],
  step: Step,
  nowMs: number,
  options: { readonly limit: number; readonly whenFull: "refuse_newest" | "drop_oldest" },
): QueuedRequest<number>[] {
  switch (step.do) {
    case "enqueue": {
      const request = {
        requestId: requestId(step.name),
        arrivedMs: nowMs,
        deadlineMs: step.deadlineMs,
        payload: nowMs,
      };
      const outcome = queue.enqueue(request, nowMs);
      const isKnown = model.some((one) => one.requestId === step.name);
      if (isKnown || step.deadlineMs <= nowMs) {
        expect(outcome.kind).toBe("refused");
        return model;
      }
      if (model.length < options.limit) {
        expect(outcome).toEqual({ kind: "queued" });
        return [...model, request];
      }
      if (options.whenFull === "drop_oldest" && options.limit > 0) {
        expect(outcome).toEqual({ kind: "queued", dropped: model[0] });
        return [...model.slice(1), request];
      }
      expect(outcome).toMatchObject({ kind: "refused", reason: "full", current: model.length });
      return model;
    }
    case "take":
      expect(queue.takeHead()).toEqual(model[0]);
      return model.slice(1);
    case "cancel":
      expect(queue.cancel(requestId(step.name))).toEqual(
        model.find((one) => one.requestId === step.name),
      );
      return model.filter((one) => one.requestId !== step.name);
    case "expire":
      expect(queue.expire(nowMs)).toEqual(model.filter((one) => one.deadlineMs <= nowMs));
      return model.filter((one) => one.deadlineMs > nowMs);
    case "clear":
      expect(queue.clear()).toEqual(model);
      return [];
  }
}
