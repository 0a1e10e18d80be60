import { createSocket } from 'node:dgram';
import { lookup } from 'node:dns/promises';
import { isIPv6 } from 'node:net';
import { connectionError, isLoopback } from '../client/connection-error.js';
import { readOr } from '../agent/process/proc.js';
import { BerthError } from '../model/errors.js';

/**
 * The address of this machine on its way to a server: the source address that the kernel chooses. The
 * server need not be up, because no packet is sent.
 */
export async function addressTowards(url: string): Promise<string> {
  const { hostname, port } = new URL(url);
  const host = hostname.replace(/^\[|\]$/g, '');
  try {
    const { address, family } = await lookup(host);
    return usable(await sourceTowards(address, family, Number(port || 443)), url);
  } catch (cause) {
    throw cause instanceof BerthError ? cause : connectionError(url, url, cause);
  }
}

function sourceTowards(host: string, family: number, port: number): Promise<string> {
  const socket = createSocket(family === 6 ? 'udp6' : 'udp4');
  return new Promise<string>((resolve, reject) => {
    socket.once('error', reject);
    socket.connect(port, host, () => resolve(socket.address().address));
  }).finally(() => socket.close());
}

/** Refuses what means something on one link only. */
function usable(address: string, url: string): string {
  if (!(isIPv6(address) && /^fe[89ab]/i.test(address))) return address;
  throw new BerthError(
    'InvalidAgentConfig',
    `this machine reaches ${url} from the link-local address ${address}, which other machines cannot use: give its address with --address`,
  );
}

export const isLoopbackAddress = (address: string): boolean =>
  isLoopback(`https://${isIPv6(address) ? `[${address}]` : address}`);

/** Names the running machine, so that two processes can tell whether they are on the same one. */
export const machineName = (): string | undefined => readOr('/proc/sys/kernel/random/boot_id')?.trim();
