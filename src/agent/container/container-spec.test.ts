import { describe, expect, it } from 'vitest';
import type { NodeBinding } from '../../model/node-stream.js';
import type { Template } from '../../model/parts/template.js';
import type { Launch } from '../runner.js';
import { containerSpec } from './container-spec.js';

const launch = (template: Partial<Template>, more: Partial<NodeBinding> = {}): Launch => ({
  binding: {
    ...{ replica: { tenant: 't', name: 'w-0-1', uid: 'u' }, workload: 'w', slot: '0', revision: 'w-r1' },
    ...{ fence: '7', type: 'Service', isFenced: false, stage: 'Bound', version: 1 },
    ...more,
    template: { run: { container: { image: 'app:1' } }, ...template },
  },
  ...{ execution: 2, command: undefined, args: undefined, env: { A: 'b' } },
});
const roomy = { openFilesMax: 1_000_000, processesMax: 1_000_000 };
const owner = { node: 'n1', agent: 'a1' };
const image = { id: 'sha256:1', user: '' };

describe('what an engine is asked to make', () => {
  it('has no rights that it does not need, whatever the image says', () => {
    const { HostConfig, User } = containerSpec(launch({}), image, owner, roomy);
    expect(HostConfig).toMatchObject({
      ...{ CapDrop: ['ALL'], SecurityOpt: ['no-new-privileges'], Privileged: false, NetworkMode: 'host' },
      ...{ PidsLimit: 4096, RestartPolicy: { Name: 'no' } },
    });
    expect(User).toBe('65534:65534');
  });

  it.each([
    ['', '65534:65534'],
    ['root', '65534:65534'],
    ['0:0', '65534:65534'],
    ['1000', undefined],
    ['www', undefined],
  ])('of an image whose user is "%s" runs as %s', (user, runsAs) => {
    expect(containerSpec(launch({}), { ...image, user }, owner, roomy).User).toBe(runsAs);
  });

  it('is held to what it is charged with, and to no more than the machine has', () => {
    const template = { resources: { cpu: '250m', memory: '64Mi' } };
    const { HostConfig } = containerSpec(launch(template), image, owner, {
      openFilesMax: 1024,
      processesMax: 99,
    });
    expect(HostConfig).toMatchObject({
      ...{ CpuShares: 256, Memory: 67_108_864, MemorySwap: 67_108_864 },
      Ulimits: [
        { Name: 'nofile', Soft: 1024, Hard: 1024 },
        { Name: 'nproc', Soft: 99, Hard: 99 },
      ],
    });
    expect(containerSpec(launch({}), image, owner, roomy).HostConfig).not.toHaveProperty('Memory');
  });

  it('replaces entry point and arguments only where the template does', () => {
    const words = (command: Launch['command'], args: Launch['args']) => {
      const { Entrypoint, Cmd } = containerSpec({ ...launch({}), command, args }, image, owner, roomy);
      return [Entrypoint, Cmd];
    };
    expect(words(undefined, undefined)).toEqual([undefined, undefined]);
    expect(words(undefined, ['x'])).toEqual([undefined, ['x']]);
    // The arguments of the image belong to its own entry point.
    expect(words(['a'], undefined)).toEqual([['a'], []]);
    expect(words(['a'], ['x'])).toEqual([['a'], ['x']]);
  });

  it('carries what an agent needs to find it again, its environment and its devices', () => {
    const devices = { gpu: ['GPU-1'], serial: ['/dev/ttyS1'] };
    const spec = containerSpec(launch({}, { devices }), image, owner, roomy);
    expect(spec.Labels).toMatchObject({
      'dev.berth.uid': 'u',
      'dev.berth.execution': '2',
      'dev.berth.node': 'n1',
      'dev.berth.agent': 'a1',
    });
    expect(spec.Env).toEqual(['A=b']);
    expect(spec.HostConfig['Devices']).toMatchObject([{ PathOnHost: '/dev/ttyS1' }]);
    expect(spec.HostConfig['DeviceRequests']).toMatchObject([{ DeviceIDs: ['GPU-1'] }]);
  });
});
