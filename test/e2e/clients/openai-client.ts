// biome-ignore lint/suspicious/noExplicitAny: answers of many shapes, which the tests spell out.
export type Json = any;

/** What a program learns from an exception of a client. */
export interface ClientError {
  readonly name: string;
  readonly message: string;
  readonly status: number | null;
  readonly code: string | null;
  readonly param: string | null;
  readonly type: string | null;
  readonly requestId: string | null;
}

/** How a call ended. Of a stream that broke there are both chunks and an error. */
export interface Outcome {
  readonly answer?: Json;
  readonly chunks?: readonly Json[];
  readonly requestId?: string | null;
  readonly error?: ClientError;
}

/** One call of an `openai` package, whatever its language. */
export interface OpenAiCall {
  /** As programs write it: `chat.completions.create`; or `get` and `post` of a `path`. */
  readonly method: string;
  readonly path?: string;
  /** Fields that the package does not know are sent all the same. */
  readonly body?: Readonly<Record<string, unknown>>;
  readonly headers?: Readonly<Record<string, string>>;
  /** Leaves a stream after so many chunks. */
  readonly leaveAfter?: number;
  readonly timeoutMs?: number;
  /** Default 0. */
  readonly maxRetries?: number;
  /** Without `/v1`. */
  readonly api: string;
}

/** An `openai` package. */
export interface OpenAiClient {
  call(call: OpenAiCall): Promise<Outcome>;
}

/** How long any call of a test may take, ms. */
export const callTimeoutMs = 30_000;
