import { describe, expect, it } from 'vitest';
import { readAgentConfig } from './agent-config.js';
import { cpuLimit, groupsOf, memoryLimit, withParents } from './cgroup-limits.js';
import { offerOf, overstated, type Readings } from './machine.js';
import { gpuIdsIn, readMachine } from './read-machine.js';

const gibi = 1024 ** 3;
const machine: Readings = {
  ...{ cores: 8, cpuLimitMilli: undefined, memoryBytes: 64 * gibi, memoryLimitBytes: undefined },
  ...{ architecture: 'x64', operatingSystem: 'linux', gpus: [] },
};

describe('what a machine offers', () => {
  it.each<[string, Partial<Readings>, object, object, object]>([
    ['all but the reserve', {}, {}, { cpu: '8000m', memory: '65536Mi' }, { cpu: '7900m', memory: '62003Mi' }],
    [
      'no more than its control groups allow',
      { cpuLimitMilli: 1_500, memoryLimitBytes: 2 * gibi },
      {},
      { cpu: '1500m', memory: '2048Mi' },
      { cpu: '1400m', memory: '1689Mi' },
    ],
    [
      'half where the reserve would take more',
      { cores: 1, cpuLimitMilli: 100, memoryBytes: gibi / 4 },
      {},
      { cpu: '100m', memory: '256Mi' },
      { cpu: '50m', memory: '128Mi' },
    ],
    [
      'what is declared, where something is',
      { gpus: ['GPU-1'] },
      { allocatable: { cpu: '2' }, devices: { nic: ['a', 'b'] } },
      { cpu: '8000m', memory: '65536Mi', devices: { nic: 2 } },
      { cpu: '2', memory: '62003Mi', devices: { nic: 2 } },
    ],
    [
      'its GPUs',
      { gpus: ['GPU-1', 'GPU-2'] },
      {},
      { cpu: '8000m', memory: '65536Mi', devices: { gpu: 2 } },
      { cpu: '7900m', memory: '62003Mi', devices: { gpu: 2 } },
    ],
  ])('is %s', (_, found, config, capacity, allocatable) => {
    expect(offerOf({ ...machine, ...found }, config)).toMatchObject({ capacity, allocatable });
  });

  it('is believed when more is declared than is there, and said', () => {
    expect(overstated(machine, { allocatable: { cpu: '9', memory: '1Gi' } })).toEqual([
      'spec.allocatable.cpu: 9 is more than the 8000m that the machine has',
    ]);
  });
});

describe('limits of control groups', () => {
  it('are those of the group and of all above it, by controller', () => {
    const groups = groupsOf('4:memory:/a/b\n2:cpu,cpuacct:/c\n0::/user.slice/x\n\n');
    expect([...groups]).toEqual([
      ['memory', '/a/b'],
      ['cpu', '/c'],
      ['cpuacct', '/c'],
      ['', '/user.slice/x'],
    ]);
    expect(withParents('/a/b')).toEqual(['/a/b', '/a', '/']);
    expect(withParents('/')).toEqual(['/']);
  });

  it.each<[string | undefined, number | undefined]>([
    ['max\n', undefined],
    ['9223372036854771712', undefined],
    [undefined, undefined],
    ['1073741824\n', gibi],
  ])('of memory: %j is %s', (text, expected) => {
    expect(memoryLimit(text)).toBe(expected);
  });

  it.each<[string | undefined, number | undefined]>([
    ['max 100000', undefined],
    ['-1 100000', undefined],
    [' ', undefined],
    [undefined, undefined],
    ['150000 100000\n', 1_500],
  ])('of cpu: %j is %s', (text, expected) => {
    expect(cpuLimit(text)).toBe(expected);
  });
});

describe('the machine of this test', () => {
  it('has cores, memory, a system and an architecture', async () => {
    const found = await readMachine();
    expect(found.cores).toBeGreaterThan(0);
    expect(found.memoryBytes).toBeGreaterThan(0);
    expect([found.operatingSystem, found.architecture]).toEqual([process.platform, process.arch]);
  });

  it('has the GPUs that are listed', () => {
    expect(gpuIdsIn('GPU-1a\n GPU-2b \n\n')).toEqual(['GPU-1a', 'GPU-2b']);
  });
});

describe('the config of an agent', () => {
  const config = (spec: string): string =>
    `apiVersion: berth.dev/v1\nkind: AgentConfig\nmetadata: { name: here }\nspec: ${spec}\n`;

  it('is read from YAML or JSON', () => {
    const spec = {
      labels: { pool: 'gpu' },
      devices: { gpu: ['a'] },
      allocatable: { cpu: '2' },
      runAs: 'www',
      leaseSeconds: 20,
    };
    expect(readAgentConfig(config(JSON.stringify(spec)), 'f')).toEqual(spec);
  });

  it.each([
    ['{ allocatable: { cpu: many } }', 'f: spec.allocatable.cpu: "many": '],
    ['{ allocateable: {} }', 'f: spec.allocateable: '],
    ['{ labels: { "a b": c } }', 'f: spec.labels'],
    ['{ taints: [{ key: a, effect: Never }] }', 'spec.taints[0].effect: "Never": must be one of'],
    ['{ leaseSeconds: 5 }', 'f: spec.leaseSeconds: 5: must be at least 15'],
    ['[', 'f:5:1: '],
  ])('is refused with the field, the value and what is allowed: %s', (spec, message) => {
    expect(() => readAgentConfig(config(spec), 'f')).toThrow(message);
  });
});
