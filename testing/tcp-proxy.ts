import { connect, createServer, type Socket } from 'node:net';

/** A loopback proxy that loses and delays what a network may lose and delay. */
export interface TcpProxy {
  readonly port: number;
  /** pass: everything. swallowReplies: requests arrive, answers do not. blackhole: nothing arrives anywhere. */
  mode: 'pass' | 'swallowReplies' | 'blackhole';
  /** How late answers arrive. */
  replyDelayMs: number;
  /** Ends every connection there is now. */
  cut(): void;
  close(): Promise<void>;
}

export function startProxy(targetPort: number): Promise<TcpProxy> {
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const target = connect(targetPort, '127.0.0.1');
    const link = (from: Socket, to: Socket, passes: () => boolean, delayMs: () => number): void => {
      sockets.add(from);
      from.on('data', (chunk) => {
        if (!passes()) return;
        if (delayMs() === 0) to.write(chunk);
        else setTimeout(() => to.writable && to.write(chunk), delayMs());
      });
      from.on('close', () => {
        sockets.delete(from);
        to.destroy();
      });
      from.on('error', () => from.destroy());
    };
    link(
      client,
      target,
      () => proxy.mode !== 'blackhole',
      () => 0,
    );
    link(
      target,
      client,
      () => proxy.mode === 'pass',
      () => proxy.replyDelayMs,
    );
  });
  const cut = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  let proxy: TcpProxy;
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      if (address === null || typeof address === 'string') throw new Error('no port');
      proxy = {
        port: address.port,
        mode: 'pass',
        replyDelayMs: 0,
        cut,
        close: () =>
          new Promise((closed) => {
            server.close(() => closed());
            cut();
          }),
      };
      resolve(proxy);
    });
  });
}
