import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import {
  type ApiAnswer,
  BatonProcess,
  type Cluster,
  describeWith,
  post,
  runBaton,
  startCluster,
  workerSpec,
} from "../support/processes/index.ts";

const flags = { "mock-prefill-ms": 2, "mock-decode-ms": 1, "block-size": 16 };
/** Enough for some blocks. */
const story = "The fox goes over the hills and far away, and nobody knows where it is. ".repeat(4);

/** What a query for a route answers, as far as tests look at it. */
interface RouteBody {
  readonly object: string;
  readonly mode: string;
  readonly candidates: readonly {
    readonly role: string;
    readonly worker: string;
    readonly eligible: boolean;
    readonly why?: string;
    readonly cost: number | null;
    readonly terms: object;
    readonly cached_tokens: number;
  }[];
  readonly selected: { readonly prefill: string | null; readonly decode: string | null };
  readonly ignored: readonly string[];
  readonly nvext?: { readonly token_ids: readonly number[] };
}

const routeOf = ({ body }: ApiAnswer) => body as unknown as RouteBody;

describeWith(["nats"], "what requests say about their routing", () => {
  let cluster: Cluster;

  beforeAll(async () => {
    cluster = await startCluster({
      prefill: 2,
      decode: 1,
      flags,
      also: [workerSpec("decode", "decode-east", "mock", { ...flags, topology: ["zone=east"] })],
    });
  });
  afterAll(() => cluster?.stop());
  afterEach(() => cluster.untilIdle());

  const ask = (more: Record<string, unknown> = {}, headers: Record<string, string> = {}) => {
    const baton = { include: ["route"], ...(more.baton as object | undefined) };
    const body = { model: "mock", prompt: story, max_tokens: 2, ...more, baton };
    return post(cluster.api, "completions", body, headers);
  };
  const prefills = () => cluster.metrics("baton_worker_prefills_started_total");
  const decodes = () => cluster.metrics("baton_worker_decodes_started_total");

  it.each<readonly [string, Record<string, unknown>, Record<string, string>]>([
    ["baton", { baton: { prefill_worker: "prefill-1", decode_worker: "decode-east" } }, {}],
    [
      "nvext",
      { nvext: { prefill_worker_id: "prefill-1", decode_worker_id: "decode-east", dp_rank: 0 } },
      {},
    ],
    [
      "headers",
      { baton: { prefill_worker: "prefill-0", decode_worker: "decode-0" } },
      {
        "x-dynamo-prefill-instance-id": "prefill-1",
        "x-dynamo-worker-instance-id": "decode-east",
        "x-dp-rank": "0",
      },
    ],
    [
      "a list and taints",
      {
        baton: {
          allowed_workers: ["prefill-1", "decode-0", "decode-east"],
          constraints: { required: ["baton.topology/zone=east"] },
        },
      },
      {},
    ],
  ])("go where they are pinned, by %s", async (_title, more, headers) => {
    for (let asked = 0; asked < 3; asked += 1) {
      const { body } = await ask(more, headers);

      expect(body.baton).toEqual({
        mode: "disaggregated",
        prefill_worker: "prefill-1",
        decode_worker: "decode-east",
      });
    }
  });

  it("are refused with the field before a prefill is paid for, if they name who is not there", async () => {
    const before = await prefills();

    const inBody = await ask({ baton: { decode_worker: "decode-9" } });
    const inHeader = await ask({}, { "x-worker-instance-id": "decode-0" });
    const malformed = await ask({}, { "x-dynamo-dp-rank": "first" });
    const noWorker = await ask({ nvext: { dp_rank: 0 } });

    expect(inBody.status).toBe(400);
    expect(inBody.body.error).toMatchObject({
      code: "unknown_worker",
      param: "baton.decode_worker",
    });
    expect(inHeader.body.error).toMatchObject({
      code: "unknown_worker",
      param: "x-worker-instance-id",
    });
    expect(malformed.body.error).toMatchObject({
      code: "invalid_request",
      param: "x-dynamo-dp-rank",
      stage: "received",
    });
    expect(noWorker.body.error).toMatchObject({ code: "invalid_request", param: "nvext.dp_rank" });
    expect(await prefills()).toBe(before);
  });

  it("share caches within a tenant and with nobody else", async () => {
    const cachedOf = async (more: object, headers: Record<string, string> = {}) => {
      const { body } = await ask({ ...more, baton: { prefill_worker: "prefill-0" } }, headers);
      return body.usage.prompt_tokens_details.cached_tokens;
    };
    const prompt = { prompt: `Of tenants. ${story}` };

    expect(await cachedOf(prompt)).toBe(0);
    const shared = await cachedOf(prompt);
    expect(shared).toBeGreaterThan(0);
    expect(await cachedOf({ ...prompt, cache_salt: "a" })).toBe(0);
    expect(await cachedOf(prompt, { "x-tenant-id": "b" })).toBe(0);
    expect(await cachedOf({ ...prompt, nvext: { cache_salt: "a" } })).toBe(shared);
    expect(await cachedOf({ ...prompt, cache_salt: "a" }, { "x-tenant-id": "b" })).toBe(shared);
  });

  it("may only ask where they would go, and then nothing is sent", async () => {
    const before = [await prefills(), await decodes()];

    const answer = await ask({
      baton: { query_only: true, decode_worker: "decode-east" },
      nvext: { agent_hints: { priority: 1 } },
    });

    expect(answer.status).toBe(200);
    const route = routeOf(answer);
    expect(route).toMatchObject({
      object: "route",
      mode: "disaggregated",
      selected: { prefill: expect.stringMatching(/^prefill-/), decode: "decode-east" },
      ignored: ["nvext.agent_hints.priority"],
    });
    expect(route.candidates.map(({ role, worker }) => `${role} ${worker}`).sort()).toEqual([
      "decode decode-0",
      "decode decode-east",
      "prefill prefill-0",
      "prefill prefill-1",
    ]);
    expect(route.candidates.find(({ worker }) => worker === "decode-0")).toMatchObject({
      eligible: false,
      why: "not_pinned",
    });
    expect(await cluster.metrics("baton_router_bookings")).toBe(0);
    expect([await prefills(), await decodes()]).toEqual(before);
  });

  it("may ask so by an annotation, and hear the prompt's tokens", async () => {
    const before = await prefills();

    const answer = await ask({ nvext: { annotations: ["query_instance_id:"] }, stream: true });

    expect(routeOf(answer).object).toBe("route");
    expect(routeOf(answer).nvext?.token_ids.length).toBeGreaterThan(16);
    expect(await prefills()).toBe(before);
  });

  it("hear the error that they would end with, and who was looked at", async () => {
    const answer = await ask({
      baton: { query_only: true, constraints: { required: ["gpu=none"] } },
    });

    expect(answer.status).toBe(503);
    expect(answer.body.error.code).toBe("no_worker_available");
    expect(routeOf(answer).candidates.length).toBeGreaterThan(0);
    expect(routeOf(answer).selected).toEqual({ prefill: null, decode: null });
  });

  it("are told their workers and times in the other form of answer", async () => {
    const { body } = await ask({ nvext: { extra_fields: ["worker_id", "timing"] } });
    const { nvext } = body as unknown as { nvext: { worker_id: object; timing: object } };

    expect(nvext.worker_id).toEqual({
      prefill_worker_id: body.baton?.prefill_worker,
      prefill_dp_rank: 0,
      decode_worker_id: body.baton?.decode_worker,
      decode_dp_rank: 0,
    });
    expect(nvext.timing).toMatchObject({
      ttft_ms: expect.any(Number),
      total_time_ms: expect.any(Number),
    });
  });

  it("are explained on the command line, as text and as JSON", async () => {
    const where = ["--nats", cluster.nats.url, "--model", "mock"];

    const shown = await runBaton(["route", "explain", "Where to?", ...where]);
    const json = await runBaton(["route", "explain", "Where to?", ...where, "--json"]);
    const refused = await runBaton(["route", "explain", "Where?", ...where.slice(0, 3), "other"]);

    expect(shown.code).toBe(0);
    expect(shown.out).toMatch(/^mock, disaggregated, prompt of \d+ tokens, blocks of 16$/m);
    expect(shown.out).toMatch(/^prefill: prefill-\d rank 0 /m);
    expect(shown.out).toMatch(/^→ +decode-(0|east) /m);
    expect(JSON.parse(json.out)).toMatchObject({ object: "route", model: "mock" });
    expect(refused.code).toBe(1);
    expect(refused.out).toContain("model_not_found in received");
  });

  it("are explained through an admin port, with a bus or without", async () => {
    const up = new BatonProcess([
      "up",
      ...["--engine", "mock", "--nats", "off", "--port", "0", "--admin-port", "0"],
      ...["--log-level", "warn", "--aggregated", "1"],
    ]);
    try {
      const ready = await up.line(/^ready /, 40_000);
      const admin = /admin=(\S+)/.exec(ready)?.[1] ?? "";

      const { code, out } = await runBaton(["route", "explain", "Hi", "--admin", admin]);

      expect(code).toBe(0);
      expect(out).toMatch(/^mock, aggregated, /m);
      expect(out).toMatch(/^decode: \S+ rank 0 /m);
    } finally {
      await up.end();
    }
  });
});
