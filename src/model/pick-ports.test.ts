import { describe, expect, it } from 'vitest';
import { pickPorts } from './pick-ports.js';

describe('picking ports', () => {
  it('gives numbers to names, past those that are claimed or asked for by number', () => {
    const asked = ['web', 'admin:20000', 'more'];
    expect(pickPorts(asked, (port) => port === 20_001)).toEqual({
      ports: { admin: 20_000, web: 20_002, more: 20_003 },
    });
  });

  it('says which port is taken, or that none is left', () => {
    expect(pickPorts(['http:80'], (port) => port === 80)).toEqual({ taken: 80 });
    expect(pickPorts(['a:80', 'b:80'], () => false)).toEqual({ taken: 80 });
    expect(pickPorts(['web'], () => true)).toEqual({ noneOf: '20000 to 29999' });
  });
});
