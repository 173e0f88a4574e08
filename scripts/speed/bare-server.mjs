import { createServer } from "node:http";

// An answer of OpenAI's shape without a model, a tokenizer or a bus behind it: what a gateway costs by itself is measured with
// it. PORT and, between two events of a stream, MILLISECONDS are its arguments.

const [port, paceMs] = process.argv.slice(2).map(Number);
const usage = (tokens) => ({
  prompt_tokens: 140,
  completion_tokens: tokens,
  total_tokens: 140 + tokens,
});
const event = (fields) =>
  `data: ${JSON.stringify({ id: "chatcmpl-1", object: "chat.completion.chunk", created: 1, model: "tiny", ...fields })}\n\n`;
const delta = (content) =>
  event({ choices: [{ index: 0, delta: { content }, finish_reason: null }] });

function stream(response, tokens) {
  response.writeHead(200, { "content-type": "text/event-stream" });
  let sent = 0;
  const timer = setInterval(() => {
    response.write(delta(" word"));
    sent += 1;
    if (sent < tokens) return;
    clearInterval(timer);
    response.end(`${event({ choices: [], usage: usage(tokens) })}data: [DONE]\n\n`);
  }, paceMs);
  response.on("close", () => clearInterval(timer));
}

const server = createServer((request, response) => {
  request.socket.setNoDelay(true);
  let body = "";
  request.setEncoding("utf8").on("data", (piece) => {
    body += piece;
  });
  request.on("end", () => {
    const { stream: isStream = false, max_tokens: tokens = 1 } = JSON.parse(body);
    if (isStream) return stream(response, tokens);
    const message = { role: "assistant", content: " word".repeat(tokens) };
    const answer = {
      id: "chatcmpl-1",
      object: "chat.completion",
      created: 1,
      model: "tiny",
      choices: [{ index: 0, message, finish_reason: "length" }],
      usage: usage(tokens),
    };
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(answer));
  });
});
server.keepAliveTimeout = 60_000;
server.listen(port, "127.0.0.1", () => process.stdout.write("listening\n"));
process.stdin.resume().on("end", () => process.exit(0));
