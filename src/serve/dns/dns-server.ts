import { createSocket, type Socket as DatagramSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import type { Env } from '../../env/env.js';
import { answerQuestion, type DnsSource } from './answer-question.js';
import { readQuery, udpBytesFor, writeAnswer } from './dns-message.js';

export interface DnsParts {
  readonly source: DnsSource;
  readonly env: Env;
  readonly onDefect: (error: unknown) => void;
}

const tcpBytesMax = 65_535;
// A query is short; who sends more is none that we serve.
const queryBytesMax = 4_096;
const connectionsMax = 256;
const idleMs = 10_000;
const triesMax = 10;

/** Answers questions about services over UDP and TCP, on one port. Bytes that are no question are dropped. */
export class DnsServer {
  readonly #connections = new Set<Socket>();

  private constructor(
    private readonly parts: DnsParts,
    private readonly udp: DatagramSocket,
    private readonly tcp: Server,
    readonly port: number,
  ) {
    udp.on('message', (bytes, { address, port: from }) => {
      // Nobody can be answered at port 0, which a forged packet may come from; to try would throw.
      if (from === 0) return;
      const answer = this.#answer(bytes, 'udp');
      // An answer that does not arrive is asked for again.
      if (answer !== undefined) udp.send(answer, from, address, () => undefined);
    });
    udp.on('error', parts.onDefect);
    tcp.on('error', parts.onDefect);
    tcp.on('connection', (socket) => void this.#serve(socket));
  }

  /** Port 0: any that is free for both. */
  static async start(parts: DnsParts, host: string, port: number): Promise<DnsServer> {
    for (let tries = 1; ; tries++) {
      try {
        return await DnsServer.#open(parts, host, port);
      } catch (error) {
        // What is free for TCP need not be for UDP.
        const isTaken = (error as NodeJS.ErrnoException).code === 'EADDRINUSE';
        if (port !== 0 || !isTaken || tries === triesMax) throw error;
      }
    }
  }

  static async #open(parts: DnsParts, host: string, port: number): Promise<DnsServer> {
    const tcp = createServer();
    tcp.listen(port, host);
    await once(tcp, 'listening');
    const address = tcp.address();
    const bound = typeof address === 'object' && address !== null ? address.port : port;
    const udp = createSocket(host.includes(':') ? 'udp6' : 'udp4');
    try {
      udp.bind(bound, host);
      await once(udp, 'listening');
    } catch (error) {
      tcp.close();
      throw error;
    }
    return new DnsServer(parts, udp, tcp, bound);
  }

  async close(): Promise<void> {
    for (const socket of this.#connections) socket.destroy();
    await Promise.all([
      new Promise<void>((resolve) => void this.udp.close(() => resolve())),
      new Promise<void>((resolve) => void this.tcp.close(() => resolve())),
    ]);
  }

  #answer(bytes: Buffer, over: 'udp' | 'tcp'): Buffer | undefined {
    try {
      const query = readQuery(bytes);
      if (query === undefined) return undefined;
      const answer = answerQuestion(query, this.parts.source, this.parts.env.random);
      return writeAnswer(query, answer, over === 'udp' ? udpBytesFor(query) : tcpBytesMax);
    } catch (error) {
      this.parts.onDefect(error);
      return undefined;
    }
  }

  /** One question at a time, and others have their turn after each: what is sent in one go may be very many. */
  async #serve(socket: Socket): Promise<void> {
    if (this.#connections.size >= connectionsMax) {
      socket.destroy();
      return;
    }
    const { env } = this.parts;
    this.#connections.add(socket);
    const idle = () => env.after(idleMs, () => socket.destroy());
    let timer = idle();
    try {
      let waiting: Buffer = Buffer.alloc(0);
      for await (const chunk of socket as AsyncIterable<Buffer>) {
        timer.cancel();
        timer = idle();
        waiting = Buffer.concat([waiting, chunk]);
        while (waiting.length >= 2) {
          const length = waiting.readUInt16BE(0);
          if (length > queryBytesMax) return;
          if (waiting.length < 2 + length) break;
          const answer = this.#answer(waiting.subarray(2, 2 + length), 'tcp');
          waiting = waiting.subarray(2 + length);
          if (answer === undefined || socket.writableLength > tcpBytesMax) return;
          const prefix = Buffer.alloc(2);
          prefix.writeUInt16BE(answer.length, 0);
          socket.write(Buffer.concat([prefix, answer]));
          await env.yield();
        }
      }
    } catch {
      // The other end is gone: there is nobody to tell.
    } finally {
      timer.cancel();
      this.#connections.delete(socket);
      socket.destroy();
    }
  }
}
