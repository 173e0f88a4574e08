import OpenAI from "openai";
import {
  type ClientError,
  callTimeoutMs,
  type Json,
  type OpenAiCall,
  type OpenAiClient,
  type Outcome,
} from "./openai-client.ts";

/** The `openai` package of Node. */
export const nodeOpenAi: OpenAiClient = {
  call: async (call) => {
    try {
      return await outcomeOf(call);
    } catch (error) {
      return { error: clientError(error) };
    }
  },
};

async function outcomeOf(call: OpenAiCall): Promise<Outcome> {
  const client = new OpenAI({
    baseURL: `${call.api}/v1`,
    apiKey: "none",
    maxRetries: call.maxRetries ?? 0,
    timeout: call.timeoutMs ?? callTimeoutMs,
    defaultHeaders: call.headers ?? {},
  });
  if (call.body?.stream !== true) {
    const answer = await callMethod(client, call);
    return { answer: plain(answer), requestId: answer._request_id ?? null };
  }
  const { data, request_id: requestId } = await callMethod(client, call).withResponse();
  const chunks: Json[] = [];
  try {
    for await (const chunk of data) {
      chunks.push(chunk);
      if (chunks.length === call.leaveAfter) break;
    }
  } catch (error) {
    return { chunks, requestId, error: clientError(error) };
  }
  return { chunks, requestId };
}

/** Calls a method by its name, as a program writes it. */
function callMethod(client: OpenAI, { method, path = "", body = {} }: OpenAiCall): Json {
  if (method === "get") return client.get(path);
  if (method === "post") return client.post(path, { body });
  const names = method.split(".");
  const owner = names.slice(0, -1).reduce((object: Json, name) => object[name], client);
  const name = names.at(-1) ?? "";
  return method === "models.retrieve" ? owner[name](body.model) : owner[name](body);
}

/** An answer as it was sent. */
function plain(answer: Json): Json {
  return JSON.parse(JSON.stringify(answer));
}

function clientError(error: unknown): ClientError {
  if (!(error instanceof OpenAI.APIError)) throw error;
  const { code, message, param, requestID, status, type } = error;
  return {
    name: error.constructor.name,
    message,
    status: status ?? null,
    code: code ?? null,
    param: param ?? null,
    type: type ?? null,
    requestId: requestID ?? null,
  };
}
