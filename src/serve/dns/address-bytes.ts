import { isIP } from 'node:net';

/** An address as its record has it; undefined: it is none, but a name perhaps. */
export function addressBytes(
  address: string,
): { readonly type: 'A' | 'AAAA'; readonly data: Buffer } | undefined {
  switch (isIP(address)) {
    case 4:
      return { type: 'A', data: Buffer.from(address.split('.').map(Number)) };
    case 6:
      return { type: 'AAAA', data: ipv6Bytes(address) };
    default:
      return undefined;
  }
}

/** The sixteen bytes of an IPv6 address that `isIP` has accepted. */
function ipv6Bytes(address: string): Buffer {
  const bytes = Buffer.alloc(16);
  const groupsOf = (part: string): number[] =>
    part === ''
      ? []
      : part.split(':').flatMap((group) => {
          if (!group.includes('.')) return [Number.parseInt(group, 16)];
          const [a = 0, b = 0, c = 0, d = 0] = group.split('.').map(Number);
          return [(a << 8) | b, (c << 8) | d];
        });
  const [plain = ''] = address.split('%');
  const [head = '', tail] = plain.split('::');
  const first = groupsOf(head);
  const last = tail === undefined ? [] : groupsOf(tail);
  for (const [index, group] of first.entries()) bytes.writeUInt16BE(group, index * 2);
  for (const [index, group] of last.entries()) bytes.writeUInt16BE(group, 16 - (last.length - index) * 2);
  return bytes;
}
