import { Artifact, GetArtifact, modelName, workerId } from "@baton/protocol";
import { memoryCluster } from "@baton/testing";
import { describe, expect, it } from "vitest";
import { fetchArtifact } from "../../src/prepare/artifact-source.ts";
import { byteArtifact, checksumOf } from "../support/byte-artifact.ts";
import { FakeView } from "../support/fake-view.ts";

const bytes = byteArtifact();
const checksum = checksumOf(bytes);

function rig(answers: Readonly<Record<string, Uint8Array | null>>) {
  const cluster = memoryCluster();
  const context = cluster.context({ role: "frontend", id: "f1" });
  const peers = cluster.bus("peers");
  const asked: string[] = [];
  const ids = ["w1", "w2", "w3"];
  const card = { tokenizerChecksum: checksum };
  const view = new FakeView(ids.map((id) => ({ id, type: "aggregated", card })));
  for (const [id, answer] of Object.entries(answers)) {
    const subject = cluster.subjects.worker("get-artifact", modelName("m"), workerId(id));
    peers.subscribe(subject, (message) => {
      asked.push(id);
      const ask = GetArtifact.decode(message.payload);
      message.respond(Artifact.encode({ checksum: ask.checksum, bytes: answer }));
    });
  }
  const fetched = fetchArtifact({ ...context, view }, "m", checksum, 100);
  return { asked, cluster, fetched };
}

describe("fetching an artifact", () => {
  it("takes it from the first worker that has it", async () => {
    const { asked, cluster, fetched } = rig({ w1: bytes, w2: bytes, w3: bytes });
    await cluster.clock.advanceBy(10);

    expect(await fetched).toEqual(bytes);
    expect(asked).toHaveLength(1);
  });

  it("tries another worker where one is gone, has none, or has other bytes", async () => {
    for (const bad of [
      {},
      { w1: null, w2: null },
      { w1: Uint8Array.of(1), w2: Uint8Array.of(1) },
    ]) {
      const { cluster, fetched } = rig({ ...bad, w3: bytes });
      await cluster.clock.advanceBy(10);

      expect(await fetched).toEqual(bytes);
    }
  });

  it("says that the model is not ready where no worker has it", async () => {
    const { cluster, fetched } = rig({ w1: Uint8Array.of(1) });
    const outcome = expect(fetched).rejects.toMatchObject({ code: "not_ready" });
    await cluster.clock.advanceBy(1_000);

    await outcome;
  });
});
