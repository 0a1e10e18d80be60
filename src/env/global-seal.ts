import childProcess from 'node:child_process';
import crypto from 'node:crypto';
import dns from 'node:dns';
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import net from 'node:net';
import os from 'node:os';
import timers from 'node:timers';
import timersPromises from 'node:timers/promises';
import zlib from 'node:zlib';

type Callable = (this: unknown, ...args: unknown[]) => unknown;
type Holder = Record<string, unknown>;

/** Code that ran inside a simulated world asked the real machine for something that would differ next time. */
export class SealedGlobalError extends Error {
  constructor(name: string) {
    super(
      `${name} was called inside a simulated run; time, timers, randomness and files come from env and ports`,
    );
    this.name = 'SealedGlobalError';
  }
}

const sealedMark = Symbol('sealed');

/** The names of an object's functions, those of its class included. */
function methodsOf(holder: object): string[] {
  const names = new Set([
    ...Object.getOwnPropertyNames(holder),
    ...Object.getOwnPropertyNames(Object.getPrototypeOf(holder) as object),
  ]);
  names.delete('constructor');
  return [...names].filter(
    (name) => typeof (holder as Holder)[name] === 'function' && !(name in Object.prototype),
  );
}

/**
 * While a simulated event and the promise work it started run (between `enter` and `leave`), the machine's
 * clocks, timers and randomness throw, and so does what answers on the machine's own time: files, processes,
 * sockets, cryptography off the main thread. Outside that stretch they work, so that a test
 * runner in the same process goes on undisturbed.
 */
export class GlobalSeal {
  #inside = false;
  readonly #undo: (() => void)[] = [];

  constructor() {
    if (sealedMark in Date.now) throw new Error('another simulated run is in progress in this process');
    this.#sealAll(Math, 'Math', ['random']);
    this.#sealAll(performance, 'performance', methodsOf(performance));
    this.#sealAll(process, 'process', ['hrtime', 'uptime']);
    this.#sealAll(AbortSignal, 'AbortSignal', ['timeout']);
    this.#sealAll(globalThis.crypto, 'crypto', ['randomUUID', 'getRandomValues']);
    this.#sealAll(globalThis.crypto.subtle, 'crypto.subtle', methodsOf(globalThis.crypto.subtle));
    // Its getRandomValues cannot be replaced; it hands on to the global one, which can.
    this.#sealAll(
      crypto,
      'node:crypto',
      Object.keys(crypto).filter((name) => name.startsWith('random') || `${name}Sync` in crypto),
    );
    this.#sealAll(os, 'node:os', ['uptime']);
    this.#sealAll(globalThis, 'globalThis', ['setTimeout', 'setInterval', 'setImmediate']);
    this.#sealAll(timers, 'node:timers', ['setTimeout', 'setInterval', 'setImmediate']);
    this.#sealAll(timersPromises, 'node:timers/promises', ['setTimeout', 'setInterval', 'setImmediate']);
    this.#sealAll(timersPromises.scheduler, 'node:timers/promises.scheduler', ['wait', 'yield']);
    this.#sealAll(
      fs,
      'node:fs',
      Object.keys(fs).filter((name) => `${name}Sync` in fs || /^create(Read|Write)Stream$|^watch/.test(name)),
    );
    this.#sealAll(fs.promises, 'node:fs/promises', Object.keys(fs.promises));
    this.#sealAll(
      zlib,
      'node:zlib',
      Object.keys(zlib).filter((name) => `${name}Sync` in zlib),
    );
    this.#sealAll(childProcess, 'node:child_process', ['exec', 'execFile', 'fork', 'spawn']);
    this.#sealAll(net, 'node:net', ['connect', 'createConnection', 'createServer']);
    this.#sealAll(dns, 'node:dns', methodsOf(dns));
    this.#sealAll(dns.promises, 'node:dns/promises', methodsOf(dns.promises));
    this.#sealGetter(Event.prototype, 'timeStamp', 'Event.timeStamp');
    this.#sealGetter(Intl.DateTimeFormat.prototype, 'format', 'Intl.DateTimeFormat.format');
    this.#sealDate();
    syncBuiltinESMExports();
  }

  enter(): void {
    this.#inside = true;
  }

  leave(): void {
    this.#inside = false;
  }

  remove(): void {
    this.#inside = false;
    for (const undo of this.#undo) undo();
    syncBuiltinESMExports();
  }

  #sealAll(holder: object, holderName: string, names: readonly string[]): void {
    for (const name of names) this.#seal(holder as Holder, name, `${holderName}.${name}`);
  }

  #seal(holder: Holder, name: string, shownName: string): void {
    const original = holder[name];
    if (typeof original !== 'function') return;
    const isInside = (): boolean => this.#inside;
    const sealed = function (this: unknown, ...args: unknown[]): unknown {
      if (isInside()) throw new SealedGlobalError(shownName);
      return (original as Callable).apply(this, args);
    };
    // hrtime.bigint and the promisify symbols hang on the functions themselves.
    for (const key of Reflect.ownKeys(original)) {
      if (key === 'length' || key === 'name' || key === 'prototype') continue;
      Object.defineProperty(sealed, key, Object.getOwnPropertyDescriptor(original, key) ?? {});
    }
    if (typeof (sealed as unknown as Holder)['bigint'] === 'function') {
      this.#seal(sealed as unknown as Holder, 'bigint', `${shownName}.bigint`);
    }
    const own = Object.getOwnPropertyDescriptor(holder, name);
    Object.defineProperty(holder, name, {
      value: sealed,
      configurable: true,
      writable: true,
      enumerable: true,
    });
    this.#undo.push(() => {
      if (own === undefined) delete holder[name];
      else Object.defineProperty(holder, name, own);
    });
  }

  #sealGetter(holder: object, name: string, shownName: string): void {
    const own = Object.getOwnPropertyDescriptor(holder, name);
    if (own?.get === undefined) throw new Error(`${shownName} is no getter`);
    const isInside = (): boolean => this.#inside;
    Object.defineProperty(holder, name, {
      ...own,
      get(this: unknown): unknown {
        if (isInside()) throw new SealedGlobalError(shownName);
        return own.get?.call(this) as unknown;
      },
    });
    this.#undo.push(() => Object.defineProperty(holder, name, own));
  }

  #sealDate(): void {
    const RealDate = globalThis.Date;
    const refuse = (name: string): void => {
      if (this.#inside) throw new SealedGlobalError(name);
    };
    const now = (): number => {
      refuse('Date.now');
      return RealDate.now();
    };
    Object.defineProperty(now, sealedMark, { value: true });
    // `new Date(ms)` formats a time that is already known, so it stays allowed.
    globalThis.Date = new Proxy(RealDate, {
      construct(target, args, newTarget) {
        if (args.length === 0) refuse('new Date()');
        return Reflect.construct(target, args, newTarget) as object;
      },
      apply() {
        refuse('Date()');
        return new RealDate().toString();
      },
      get(target, property) {
        return property === 'now' ? now : (Reflect.get(target, property) as unknown);
      },
    });
    RealDate.prototype.constructor = globalThis.Date;
    this.#undo.push(() => {
      globalThis.Date = RealDate;
      RealDate.prototype.constructor = RealDate;
    });
  }
}
