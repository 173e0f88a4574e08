import { ServingError } from "@baton/protocol";
import {
  type BusFactory,
  type Clock,
  connectNats,
  MemoryNetwork,
  type NatsAccess,
  type Random,
  readNatsAccess,
} from "@baton/runtime";
import { findNatsServer, startNatsChild } from "./nats-child.ts";

/** The bus of a cluster on this machine. */
export interface BusChoice {
  /** `nats://HOST:PORT`, or `in-process`. */
  readonly label: string;
  /** The server's URL; null in-process. */
  readonly natsUrl: string | null;
  readonly connect: BusFactory;
  /** Resolves with how our own server ended, if it does before `stop`. */
  readonly ended: Promise<string>;
  stop(): Promise<void>;
}

/** What was asked for. */
export interface BusWish extends NatsAccess {
  /** URL, `auto`, `embedded` or `off`. */
  readonly nats: string;
  /** Whether the actors are processes of their own, which an in-process bus cannot serve. */
  readonly processes: boolean;
}

/** A bus that is not ours to start or stop. */
const notOurs = {
  ended: new Promise<string>(() => undefined),
  stop: async (): Promise<void> => {},
};

/** Finds, starts or makes the bus. Throws `config_invalid` when what was asked for cannot be. */
export async function chooseBus(
  wish: BusWish,
  deps: { readonly clock: Clock; readonly random: Random; readonly path: string },
): Promise<BusChoice> {
  if (wish.nats.includes("://")) return overNats(wish, notOurs);
  if (!["auto", "embedded", "off"].includes(wish.nats)) {
    throw invalid(`--nats ${wish.nats}: give a URL, auto, embedded or off`);
  }
  const binary = wish.nats === "off" ? null : findNatsServer(deps.path);
  if (binary !== null) {
    const child = await startNatsChild(binary, "127.0.0.1", deps.clock);
    return overNats({ nats: child.url }, child);
  }
  const install = "there is no nats-server on the PATH; apt-get install nats-server";
  if (wish.nats === "embedded") throw invalid(`--nats embedded: ${install}`);
  if (wish.processes)
    throw invalid(
      `--processes needs NATS: ${wish.nats === "off" ? "leave --nats off out" : install}`,
    );
  const network = new MemoryNetwork(deps);
  return {
    label: "in-process",
    natsUrl: null,
    connect: async (options) => network.connect(options),
    ...notOurs,
  };
}

function overNats(
  access: NatsAccess,
  { ended, stop }: Pick<BusChoice, "ended" | "stop">,
): BusChoice {
  const nats = readNatsAccess(access);
  return {
    label: withoutPassword(access.nats),
    natsUrl: access.nats,
    connect: (options, signal) => connectNats(nats, options, signal),
    ended,
    stop,
  };
}

/** A URL that may be printed. */
function withoutPassword(url: string): string {
  return url.replace(/\/\/[^/@]*@/, "//");
}

function invalid(problem: string): ServingError {
  return new ServingError("config_invalid", { problem });
}
