import { readFileSync } from "node:fs";
import { ServingError } from "@baton/protocol";
import {
  type Authenticator,
  credsAuthenticator,
  nkeyAuthenticator,
  tokenAuthenticator,
  usernamePasswordAuthenticator,
} from "nats";
import { z } from "zod";

const jsonSchema = z.union([
  z.strictObject({ user: z.string(), password: z.string() }),
  z.strictObject({ token: z.string() }),
  z.strictObject({ nkey: z.string() }),
]);

/**
 * Reads a credentials file: a NATS creds file (JWT and nkey), or JSON with `user` and `password`, with `token`, or
 * with `nkey` (a seed). Throws `config_invalid` without showing what the file holds.
 */
export function readNatsCredentials(file: string): Authenticator {
  const text = readText(file);
  if (text.includes("-----BEGIN NATS USER JWT-----")) {
    // The client's own reader finds the seed only if its end mark ends a line.
    return credsAuthenticator(new TextEncoder().encode(`${text}\n`));
  }
  return fromJson(file, text);
}

function readText(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    throw new ServingError(
      "config_invalid",
      { problem: `--nats-creds: ${file} cannot be read`, file },
      { cause: error },
    );
  }
}

function fromJson(file: string, text: string): Authenticator {
  const parsed = jsonSchema.safeParse(parseJson(text));
  if (!parsed.success) {
    throw new ServingError("config_invalid", {
      problem: `--nats-creds: ${file} is neither a NATS creds file nor JSON with user and password, token, or nkey`,
      file,
    });
  }
  const creds = parsed.data;
  if ("user" in creds) return usernamePasswordAuthenticator(creds.user, creds.password);
  if ("token" in creds) return tokenAuthenticator(creds.token);
  return nkeyAuthenticator(new TextEncoder().encode(creds.nkey));
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null; // the schema refuses it with a message that shows nothing of the file
  }
}
