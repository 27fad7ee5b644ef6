import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { tlsFailureOf } from '../../../../src/router/local/server-tls-failure.ts';

const server = { host: 'db.example', port: 5432 };

/** As Node.js makes it: with advice for the author of a program. */
const said = (code: string): NodeJS.ErrnoException =>
  Object.assign(new Error(`${code.toLowerCase()}; if the root CA is installed locally, try running Node.js with --use-system-ca`), {
    code,
  });

/** All that Node.js gives as a code where a chain is not accepted (X509_verify_cert), and some of what OpenSSL says of a handshake. */
const CERTIFICATE = [
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_CRL',
  'UNABLE_TO_DECRYPT_CERT_SIGNATURE',
  'UNABLE_TO_DECRYPT_CRL_SIGNATURE',
  'UNABLE_TO_DECODE_ISSUER_PUBLIC_KEY',
  'CERT_SIGNATURE_FAILURE',
  'CRL_SIGNATURE_FAILURE',
  'CERT_NOT_YET_VALID',
  'CERT_HAS_EXPIRED',
  'CRL_NOT_YET_VALID',
  'CRL_HAS_EXPIRED',
  'ERROR_IN_CERT_NOT_BEFORE_FIELD',
  'ERROR_IN_CERT_NOT_AFTER_FIELD',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'CERT_CHAIN_TOO_LONG',
  'CERT_REVOKED',
  'CERT_UNTRUSTED',
  'CERT_REJECTED',
  'HOSTNAME_MISMATCH',
  'INVALID_CA',
  'INVALID_PURPOSE',
  'PATH_LENGTH_EXCEEDED',
  'CA_MD_TOO_WEAK',
  'CA_KEY_TOO_SMALL',
  'EE_KEY_TOO_SMALL',
];
const HANDSHAKE = [
  'ERR_SSL_WRONG_VERSION_NUMBER',
  'ERR_SSL_UNSUPPORTED_PROTOCOL',
  'ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED',
  'ERR_SSL_TLSV1_ALERT_UNKNOWN_CA',
  'ERR_SSL_SSLV3_ALERT_BAD_CERTIFICATE',
  'ERR_SSL_TLSV1_UNRECOGNIZED_NAME',
  'ERR_SSL_SSL/TLS_ALERT_HANDSHAKE_FAILURE',
  'ECONNRESET',
  'OUT_OF_MEM',
  'UNSPECIFIED',
];

describe('why TLS with a server fails', () => {
  for (const [codes, expected] of [
    [CERTIFICATE, 'tls-certificate'],
    [HANDSHAKE, 'tls-failed'],
  ] as const)
    for (const code of codes)
      test(`is said in our own words for ${code}, with the server`, () => {
        const { code: found, message } = tlsFailureOf(said(code), server);
        assert.equal(found, expected);
        assert.match(message, /db\.example:5432/);
        assert.match(message, /[.?]$/);
        assert.doesNotMatch(message, /Node\.js|--use|try running|undefined/);
      });

  for (const [code, remedy] of [
    ['DEPTH_ZERO_SELF_SIGNED_CERT', /is self-signed, and ca\.crt does not contain it\. Put it into ca\.crt/],
    ['SELF_SIGNED_CERT_IN_CHAIN', /authority that ca\.crt does not contain\. Put that authority into ca\.crt/],
    ['CERT_HAS_EXPIRED', /has expired\. Renew it at the server/],
    ['ERR_SSL_WRONG_VERSION_NUMBER', /does not speak TLS\. Correct the port, or remove tlsCredentials/],
    ['ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED', /requires a client certificate\. Set useClientCert/],
  ] as const)
    test(`names what helps for ${code}`, () => assert.match(tlsFailureOf(said(code), server).message, remedy));

  test('names the hosts of a certificate that is for others', () => {
    const error = Object.assign(said('ERR_TLS_CERT_ALTNAME_INVALID'), { cert: { subjectaltname: 'DNS:other.example' } });
    assert.match(tlsFailureOf(error, server).message, /is for DNS:other\.example, not for db\.example\. Use a host name/);
  });
});
