import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** A throw-away CA and one certificate for 127.0.0.1 that serves as server and client certificate. */
export interface TestCertificates {
  readonly caFile: string;
  readonly certFile: string;
  readonly keyFile: string;
  readonly pem: { readonly ca: Buffer; readonly cert: Buffer; readonly key: Buffer };
}

export function makeCertificates(dir: string): TestCertificates {
  const file = (name: string): string => join(dir, name);
  const openssl = (...words: string[]): void => {
    execFileSync('openssl', words, { stdio: 'pipe' });
  };
  const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  openssl(
    'req',
    '-x509',
    ...newKey,
    '-subj',
    '/CN=test-ca',
    '-days',
    '1',
    '-keyout',
    file('ca.key'),
    '-out',
    file('ca.crt'),
  );
  openssl('req', ...newKey, '-subj', '/CN=test', '-keyout', file('one.key'), '-out', file('one.csr'));
  writeFileSync(file('one.ext'), 'subjectAltName=IP:127.0.0.1\nextendedKeyUsage=serverAuth,clientAuth\n');
  openssl(
    ...[
      'x509',
      '-req',
      '-in',
      file('one.csr'),
      '-CA',
      file('ca.crt'),
      '-CAkey',
      file('ca.key'),
      '-CAcreateserial',
    ],
    ...['-days', '1', '-extfile', file('one.ext'), '-out', file('one.crt')],
  );
  return {
    caFile: file('ca.crt'),
    certFile: file('one.crt'),
    keyFile: file('one.key'),
    pem: {
      ca: readFileSync(file('ca.crt')),
      cert: readFileSync(file('one.crt')),
      key: readFileSync(file('one.key')),
    },
  };
}
