import { readFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { createServer } from 'node:https';

/**
 * Node's own HTTPS server, the limit of the stack: it reads a body and answers with so many bytes. Who asks for /watch is
 * answered without end, with so many bytes whenever somebody sends to /change.
 */
const [pem = '', bytes = ''] = process.argv.slice(2);
const key = readFileSync(pem);
const answer = 'x'.repeat(Number(bytes));
const watchers = new Set<ServerResponse>();
const server = createServer({ key, cert: key }, (request, response) => {
  if (request.url === '/watch') {
    response.writeHead(200);
    response.flushHeaders();
    watchers.add(response);
    response.once('close', () => watchers.delete(response));
    return;
  }
  request.resume();
  request.on('end', () => {
    if (request.url === '/change') for (const watcher of watchers) watcher.write(answer);
    response.writeHead(201, { 'content-type': 'application/json', 'content-length': answer.length });
    response.end(answer);
  });
});
// A caller may rest while another server has its turn.
server.keepAliveTimeout = 60_000;
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  process.stdout.write(`https://127.0.0.1:${typeof address === 'object' ? address?.port : 0} \n`);
});
process.once('SIGTERM', () => process.exit(0));
