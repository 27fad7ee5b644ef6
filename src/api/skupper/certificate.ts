import { flag, listOf, mapOf, object, optional, text } from '../schema.ts';
import { statusWith } from './parts.ts';

export const certificateSpec = object('Content of a certificate. It is stored as a TLS bundle with the name of this object, and renewed.', {
  ca: text('The certificate authority that signs: a TLS bundle of this namespace. Empty: self-signed, which requires `signing`.'),
  subject: text('The common name. The certificate contains its first 64 characters, the maximum length.', {
    minLength: 1,
    maxLength: 65_536,
  }),
  hosts: optional(
    listOf(text('A host name or an address.', { minLength: 1, maxLength: 253 }), 'Names and addresses of the servers that present it.', {
      maxItems: 256,
    }),
  ),
  client: optional(flag('Whether clients can present it.', { default: false })),
  server: optional(flag('Whether servers can present it.', { default: false })),
  signing: optional(flag('Whether it is a certificate authority.', { default: false })),
  settings: optional(
    mapOf(
      text('The value of the setting.'),
      'Further settings by name. `purpose`: `link` or `application`, if the other fields do not decide it. On Kubernetes also `api` for clients of ' +
        'the router API, and `api-control` if they may end connections; both need `ca: skupper-local-ca`. `lifetime`: on Kubernetes, its validity, such as `720h`. Default: a year.',
    ),
  ),
});

export const certificateStatus = statusWith('`Ready`: the TLS bundle exists.', {
  expiration: optional(text('End of the validity of the certificate.', { format: 'date-time' })),
});
