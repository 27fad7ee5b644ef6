import { flag, listOf, mapOf, object, optional, text } from '../schema.ts';
import { statusWith } from './parts.ts';

export const certificateSpec = object("What the certificate is to say. It is kept as a TLS bundle of this object's name, and renewed.", {
  ca: text('The certificate authority that signs: a TLS bundle of this namespace. Empty: it signs itself, which a `signing` one may.'),
  subject: text('The common name. Of a longer one the certificate has the first 64 characters, which is the most that there may be.', {
    minLength: 1,
    maxLength: 65_536,
  }),
  hosts: optional(
    listOf(text('A host name or an address.', { minLength: 1, maxLength: 253 }), 'The names for which a server shows it.', {
      maxItems: 256,
    }),
  ),
  client: optional(flag('Whether clients can show it.', { default: false })),
  server: optional(flag('Whether servers can show it.', { default: false })),
  signing: optional(flag('Whether it is a certificate authority.', { default: false })),
  settings: optional(
    mapOf(
      text('The value of the setting.'),
      'Further settings by name. `purpose`: `link` or `application`, where that does not follow from the rest; on Kubernetes also `api`, with `ca: ' +
        'skupper-local-ca`, for who asks routers about themselves. `lifetime`: on Kubernetes, for how long it is issued, such as `720h`; left out: a year.',
    ),
  ),
});

export const certificateStatus = statusWith('`Ready`: the TLS bundle is there.', {
  expiration: optional(text('Until when the certificate is valid.', { format: 'date-time' })),
});
