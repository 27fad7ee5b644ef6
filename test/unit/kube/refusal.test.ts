import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ApiError, isRefusal } from '../../../src/kube/errors.ts';

describe('isRefusal', () => {
  const answers: readonly (readonly [status: number, statusMessage: string, expected: boolean])[] = [
    [400, 'Service in version "v1" cannot be handled as a Service', true],
    [403, 'services "web" is forbidden: exceeded quota: none', true],
    [422, 'Service "web" is invalid: spec.ports: Required value', true],
    [500, 'failed to create typed patch object (ns/web; /v1, Kind=Service): .spec.portz: field not declared in schema', true],
    [500, 'etcdserver: request timed out', false],
    [409, 'the object has been modified', false],
    [429, 'too many requests', false],
    [503, 'the server is currently unable to handle the request', false],
  ];
  for (const [status, statusMessage, expected] of answers) {
    it(`is ${expected} for ${status} ${statusMessage}`, () => {
      assert.equal(isRefusal(new ApiError('patch Service shop/web', { status, reason: '', message: statusMessage })), expected);
    });
  }
});
