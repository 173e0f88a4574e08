import { describe, expect, it } from "vitest";
import { WorkerRecord } from "../src/worker-record.ts";
import { catalogWorker, loadWith } from "./support/builders.ts";

const record = (state: Parameters<typeof catalogWorker>[2] = "live") =>
  new WorkerRecord(catalogWorker("d1", 3, state), 1_000);

describe("WorkerRecord", () => {
  it("is what the catalog says until it is heard", () => {
    expect(record("live").state).toBe("live");
    expect(record("draining").state).toBe("draining");
    expect(record("lost").state).toBe("lost");
    expect(record()).toMatchObject({ id: "d1", generation: 3, workerType: "decode" });
  });

  it("is what is heard of it, against the catalog", () => {
    const heard = record("lost");
    heard.life = "heard";
    expect(heard.settle()).toBe(true);
    expect(heard.state).toBe("live");

    const lost = record("live");
    lost.life = "lost";
    lost.settle();
    expect(lost.state).toBe("lost");
  });

  it("drains by any sign of it, and says whether that is a change", () => {
    const one = record();
    one.load = loadWith("d1", { accepting: false });
    expect(one.settle()).toBe(true);
    expect(one.settle()).toBe(false);
    one.load = loadWith("d1");
    one.settle();
    expect(one.state).toBe("live");

    one.drains = true;
    one.settle();
    expect(one.state).toBe("draining");
    one.drains = false;
    one.life = "heard";
    one.listed = null;
    one.settle();
    expect(one.state).toBe("draining");
  });

  it("takes the latest registration of its generation", () => {
    const one = record();
    const later = catalogWorker("d1", 3, "draining");
    later.registration.taints.push("slow");

    one.relist(later);
    one.settle();

    expect(one.registration.taints).toEqual(["slow"]);
    expect(one.state).toBe("draining");
  });
});
