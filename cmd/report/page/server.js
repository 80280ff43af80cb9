// Server: its own metrics on the time axis of the run.

function addServer() {
  const part = addPart("server", "Server");
  addLine(part, "There is no server.jsonl: the server's own metrics were not recorded.");
}
