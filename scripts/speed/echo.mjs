import { connect } from "nats";

// Answers each message on the subject `hop` with itself. Its argument is the server's URL.

const connection = await connect({ servers: process.argv[2] });
connection.subscribe("hop", { callback: (_, message) => message.respond(message.data) });
await connection.flush();
process.stdout.write("listening\n");
process.stdin.resume().on("end", () => process.exit(0));
