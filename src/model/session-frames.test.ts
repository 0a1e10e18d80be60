import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { frameBytesMax, frameOf, FrameReader, framesOf, jsonFrame } from './session-frames.js';

describe('the frames of a session', () => {
  it('arrive as they were sent, however the bytes are cut', () => {
    const kinds = fc.constantFrom('stdin', 'stdout', 'stderr', 'end', 'begun', 'resize', 'stdinEnd');
    fc.assert(
      fc.property(
        fc.array(fc.tuple(kinds, fc.uint8Array({ maxLength: 30 })), { maxLength: 10 }),
        fc.integer({ min: 1, max: 20 }),
        (sent, cut) => {
          const wire = Buffer.concat(sent.map(([kind, bytes]) => frameOf(kind, bytes)));
          const reader = new FrameReader();
          const heard = [];
          for (let from = 0; from < wire.length; from += cut)
            heard.push(...reader.take(wire.subarray(from, from + cut)));
          expect(heard.map(({ kind, bytes }) => [kind, [...bytes]])).toEqual(
            sent.map(([kind, bytes]) => [kind, [...bytes]]),
          );
        },
      ),
    );
  });

  it('carry much output in several', () => {
    const much = Buffer.alloc(frameBytesMax * 2 + 1, 'x');
    const frames = new FrameReader().take(Buffer.concat([...framesOf('stdout', much)]));
    expect(frames.map(({ bytes }) => bytes.length)).toEqual([frameBytesMax, frameBytesMax, 1]);
  });

  it('end with who sends something else', () => {
    expect(() => new FrameReader().take(Buffer.from('GET / HTTP/1.1'))).toThrow('no kind of frame');
    const long = Buffer.from([17, 0xff, 0xff, 0xff, 0xff]);
    expect(() => new FrameReader().take(long)).toThrow('too long');
    expect(jsonFrame('end', { exitCode: 3 }).toString('utf8', 5)).toBe('{"exitCode":3}');
  });
});
