import { connect, createServer, type Socket } from 'node:net';

/** A loopback proxy that loses and delays what a network may lose and delay. */
export interface TcpProxy {
  readonly port: number;
  /** pass: everything. swallowReplies: requests arrive, answers do not. blackhole: nothing arrives anywhere. */
  mode: 'pass' | 'swallowReplies' | 'blackhole';
  /** Told of everything that is lost, before anything else happens. */
  onLost: () => void;
  /** Keeps answers back, in order, until they are released. */
  holdReplies(): void;
  releaseReplies(): void;
  /** Ends every connection there is now. */
  cut(): void;
  close(): Promise<void>;
}

export function startProxy(targetPort: number): Promise<TcpProxy> {
  const sockets = new Set<Socket>();
  // Undefined: nothing is held.
  let held: (() => void)[] | undefined;
  const server = createServer((client) => {
    const target = connect(targetPort, '127.0.0.1');
    const link = (
      from: Socket,
      to: Socket,
      passes: () => boolean,
      later: (send: () => void) => void,
    ): void => {
      sockets.add(from);
      from.on('data', (chunk) => {
        if (passes()) later(() => void (to.writable && to.write(chunk)));
        else proxy.onLost();
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
      (send) => send(),
    );
    link(
      target,
      client,
      () => proxy.mode === 'pass',
      (send) => (held === undefined ? send() : void held.push(send)),
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
        onLost: () => undefined,
        holdReplies: () => {
          held ??= [];
        },
        releaseReplies: () => {
          const waiting = held ?? [];
          held = undefined;
          for (const send of waiting) send();
        },
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
