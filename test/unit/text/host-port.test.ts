import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hostPort } from '../../../src/text/host-port.ts';

for (const [host, port, text] of [
  ['127.0.0.1', 80, '127.0.0.1:80'],
  ['east.example', '55671', 'east.example:55671'],
  ['::1', 80, '[::1]:80'],
  ['::ffff:10.1.2.3', 80, '10.1.2.3:80'],
  ['fe80::1%eth0', 80, '[fe80::1%eth0]:80'],
  ['"odd:host"', 80, '"odd:host":80'],
] as const)
  test(`the host ${host} with the port ${port} is ${text}`, () => assert.equal(hostPort({ host, port }), text));
