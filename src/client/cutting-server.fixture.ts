import { createServer, type TLSSocket } from 'node:tls';
import { makeCertificates, type TestCertificates } from '../../testing/certificates.js';
import { scratchDirectory } from '../../testing/scratch.js';
import type { ServerAccess } from './kubeconfig.js';

/** Where a server cuts a connection, in the order of what a request goes through; `never`: it answers. */
export const cuts = [
  'beforeHandshake',
  'beforeRequest',
  'inBody',
  'afterBody',
  'inAnswerHead',
  'inAnswerBody',
  'afterAnswer',
  'silent',
  'never',
] as const;
export type Cut = (typeof cuts)[number];

/** A TLS server that keeps what it has read, and cuts connections where a test says. */
export interface CuttingServer {
  readonly access: ServerAccess;
  readonly pem: TestCertificates['pem'];
  /** Asked at each connection and at each request on it. The path says which request it is. */
  cutOf: (path: string | undefined) => Cut;
  answer: { readonly status: number; readonly body: string };
  /** How often the head of a request was read, by path. */
  readonly begun: ReadonlyMap<string, number>;
  /** The paths of requests that were read to the end of their body. */
  readonly whole: ReadonlySet<string>;
  readonly connections: number;
  close(): Promise<void>;
}

const headEnd = Buffer.from('\r\n\r\n');
const usualAnswer = { status: 200, body: JSON.stringify({ kind: 'Answer', filling: 'x'.repeat(2_000) }) };

/** With `beside`, the two are servers of one cell: they show the same certificate. */
export async function startCuttingServer(beside?: CuttingServer): Promise<CuttingServer> {
  const scratch = scratchDirectory('cutting-server');
  const pem = beside?.pem ?? makeCertificates(scratch.path).pem;
  const begun = new Map<string, number>();
  const whole = new Set<string>();
  const sockets = new Set<{ destroy(): unknown }>();
  let connections = 0;
  const server = createServer({ ca: pem.ca, cert: pem.cert, key: pem.key }, (socket) => {
    if (self.cutOf(undefined) === 'beforeRequest') return void socket.destroy();
    readRequests(socket);
  });
  server.on('connection', (socket) => {
    connections += 1;
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
    socket.on('error', () => void socket.destroy());
    if (self.cutOf(undefined) === 'beforeHandshake') socket.destroy();
  });
  server.on('tlsClientError', () => undefined);

  const readRequests = (socket: TLSSocket): void => {
    let read: Buffer = Buffer.alloc(0);
    let path: string | undefined;
    let missing = 0;
    let cut: Cut = 'never';
    socket.on('error', () => void socket.destroy());
    socket.on('data', (chunk: Buffer) => {
      if (path === undefined) {
        read = Buffer.concat([read, chunk]);
        const end = read.indexOf(headEnd);
        if (end < 0) return;
        const head = read.toString('latin1', 0, end);
        path = head.split(' ', 2)[1] ?? '';
        missing = Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1] ?? 0);
        missing -= read.length - end - headEnd.length;
        read = Buffer.alloc(0);
        begun.set(path, (begun.get(path) ?? 0) + 1);
        cut = self.cutOf(path);
      } else missing -= chunk.length;
      if (missing > 0) {
        if (cut === 'inBody') socket.destroy();
        return;
      }
      whole.add(path);
      path = undefined;
      if (cut === 'silent') return;
      const { status, body } = self.answer;
      const type = 'Content-Type: application/json';
      const head = `HTTP/1.1 ${status} Answer\r\n${type}\r\nContent-Length: ${body.length}\r\n\r\n`;
      if (cut === 'never') return void socket.write(head + body);
      const sentBytes = {
        inAnswerHead: 30,
        inAnswerBody: head.length + body.length / 2,
        afterAnswer: Infinity,
      };
      const sent = cut in sentBytes ? (head + body).slice(0, sentBytes[cut as keyof typeof sentBytes]) : '';
      socket.write(sent, () => socket.destroy());
    });
  };

  const self: CuttingServer = {
    access: {
      ...{ url: '', ca: pem.ca.toString(), cert: undefined, key: undefined, token: undefined },
      namespace: 'default',
    },
    cutOf: () => 'never',
    answer: usualAnswer,
    ...{ pem, begun, whole },
    get connections() {
      return connections;
    },
    close: () =>
      new Promise((resolve) => {
        for (const socket of sockets) socket.destroy();
        server.close(() => {
          scratch.remove();
          resolve();
        });
      }),
  };
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  Object.assign(self.access, { url: `https://127.0.0.1:${address.port}` });
  return self;
}
