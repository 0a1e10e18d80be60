import { describe, expect, it } from 'vitest';
import { binding } from '../session.fixture.js';
import { expanded, launchOf, type WholeBinding } from './launch.js';

const place = { node: 'n1', region: 'eu-central', zone: 'a' };
const whole = (template: WholeBinding['template']): WholeBinding => ({
  ...binding('u1', { workload: 'web', slot: '3', fence: '42' }),
  replica: { tenant: 'shop', name: 'web-3-2', uid: 'u1' },
  ports: { http: 20_001 },
  devices: { gpu: ['GPU-a', 'GPU-b'] },
  template,
});

describe('a launch', () => {
  it('tells a job who and where it is, and what it was given', () => {
    const { env, execution } = launchOf(whole({ run: { process: { command: ['x'] } } }), 4, place);
    expect(execution).toBe(4);
    expect(env).toEqual({
      ...{ BERTH_TENANT: 'shop', BERTH_WORKLOAD: 'web', BERTH_SLOT: '3', BERTH_REPLICA: 'web-3-2' },
      ...{ BERTH_INCARNATION: '2', BERTH_EXECUTION: '4', BERTH_FENCE: '42' },
      ...{ BERTH_NODE: 'n1', BERTH_REGION: 'eu-central', BERTH_ZONE: 'a' },
      ...{ BERTH_PORT_http: '20001', BERTH_DEVICES_gpu: 'GPU-a,GPU-b' },
    });
  });

  it('names ports and devices as a shell can, whatever characters are in them', () => {
    const ports = { 'grpc-web': 20_002 };
    const devices = { 'nvidia.com/gpu': ['GPU-a'] };
    const template = { run: { process: { command: ['$(BERTH_PORT_grpc_web)'] } } };
    const { env, command } = launchOf({ ...whole(template), template, ports, devices }, 1, place);
    expect(env).toMatchObject({ BERTH_PORT_grpc_web: '20002', BERTH_DEVICES_nvidia_com_gpu: 'GPU-a' });
    expect(Object.keys(env).filter((name) => !/^\w+$/.test(name))).toEqual([]);
    expect(command).toEqual(['20002']);
  });

  it('puts variables into the command, and into values those that stand before', () => {
    const env = [
      { name: 'SHARD', value: 'shard-$(BERTH_SLOT)' },
      { name: 'NAME', value: '$(SHARD) of $(LATER)' },
      { name: 'LATER', value: 'x' },
    ];
    const command = ['./score', '--shard=$(SHARD)', '--port', '$(BERTH_PORT_http)', '$$(SHARD)', '$(NOBODY)'];
    const launch = launchOf(whole({ run: { process: { command }, env } }), 1, place);
    expect(launch.command).toEqual([
      './score',
      '--shard=shard-3',
      '--port',
      '20001',
      '$(SHARD)',
      '$(NOBODY)',
    ]);
    expect(launch.args).toBeUndefined();
    expect(launch.env['NAME']).toBe('shard-3 of $(LATER)');
  });

  it('leaves what an image says alone where the template does not', () => {
    const run = { container: { image: 'i', args: ['$(BERTH_NODE)'] } };
    const launch = launchOf(whole({ run }), 1, place);
    expect([launch.command, launch.args]).toEqual([undefined, ['n1']]);
  });

  it.each([
    ['$(A)', 'a'],
    ['x$(A)y$(B)', 'xay$(B)'],
    ['$$(A)', '$(A)'],
    ['$A $( A ) $(', '$A $( A ) $('],
    ['$(constructor)', '$(constructor)'],
  ])('expands %s to %s', (text, expected) => {
    expect(expanded(text, { A: 'a' })).toBe(expected);
  });
});
