import { connect, type SecureContext } from 'node:tls';

/** One keep-alive connection that sends prepared bytes and reads nothing of an answer but its status and its length. */
export interface RawCaller {
  call(request: string): Promise<number>;
  close(): void;
}

const headEnd = Buffer.from('\r\n\r\n');

/**
 * The program that loads a server shares this machine's cores with it, so its own work is taken from what it measures.
 * Node's HTTP client costs more than a create does in the server; this costs little beside TLS itself. One request
 * at a time: nothing is pipelined.
 */
export async function rawCaller(port: number, secureContext: SecureContext): Promise<RawCaller> {
  const socket = connect({
    host: '127.0.0.1',
    port,
    secureContext,
    servername: 'localhost',
    rejectUnauthorized: true,
  });
  let waiting: { resolve(status: number): void; reject(error: Error): void } | undefined;
  let read: Buffer | undefined;
  let missing = -1;
  let status = 0;
  socket.on('data', (chunk: Buffer) => {
    if (missing < 0) {
      read = read === undefined ? chunk : Buffer.concat([read, chunk]);
      const end = read.indexOf(headEnd);
      if (end < 0) return;
      const head = read.toString('latin1', 0, end);
      status = Number(head.slice(9, 12));
      const length = /\r\ncontent-length: (\d+)/i.exec(head)?.[1];
      if (length === undefined) return void socket.destroy(new Error(`an answer without a length: ${head}`));
      missing = end + headEnd.length + Number(length) - read.length;
      read = undefined;
    } else missing -= chunk.length;
    if (missing > 0) return;
    missing = -1;
    const done = waiting;
    waiting = undefined;
    done?.resolve(status);
  });
  const fail = (error: Error): void => {
    waiting?.reject(error);
    waiting = undefined;
  };
  socket.on('close', () => fail(new Error('the server closed the connection')));
  await new Promise<void>((resolve, reject) => {
    socket.once('secureConnect', resolve);
    socket.once('error', reject);
  });
  socket.on('error', fail);
  return {
    call: (request) =>
      new Promise((resolve, reject) => {
        if (socket.destroyed) return reject(new Error('the server has closed the connection'));
        waiting = { resolve, reject };
        socket.write(request);
      }),
    close: () => socket.destroy(),
  };
}

/** The bytes of a request, as a client with keep-alive sends them. */
export function rawRequest(method: string, path: string, body = ''): string {
  const about =
    body === '' ? '' : `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n`;
  return (
    `${method} ${path} HTTP/1.1\r\nHost: localhost\r\nUser-Agent: bench\r\nAccept: application/json\r\n` +
    `${about}\r\n${body}`
  );
}
