import { readFileSync } from 'node:fs';
import { createServer } from 'node:https';

/** Node's own HTTPS server, that reads a body and answers with as many bytes as a create does: the limit of the stack. */
const [pem = '', bytes = ''] = process.argv.slice(2);
const key = readFileSync(pem);
const answer = 'x'.repeat(Number(bytes));
const server = createServer({ key, cert: key }, (request, response) => {
  request.resume();
  request.on('end', () => {
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
