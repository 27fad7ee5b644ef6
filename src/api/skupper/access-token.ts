import { flag, mapOf, object, optional, text } from '../schema.ts';
import { cost } from './link.ts';
import { statusWith } from './parts.ts';

export const accessTokenSpec = object('What is needed to get a link to another site.', {
  url: text('Where the token is redeemed: an `https:` URL at the other site.', { minLength: 1, maxLength: 2048 }),
  code: text('The secret of the grant.', { minLength: 1, maxLength: 1024, format: 'password' }),
  ca: text('The certificate authority that the server at `url` must come from, PEM.', { minLength: 1, maxLength: 65_536 }),
  linkCost: optional(cost('The cost of the link that comes of it.')),
  settings: optional(
    mapOf(
      text('The value of the setting.'),
      'Further settings by name. `other-urls`: further URLs for the redemption, separated by spaces, tried in this order if `url` is unreachable.',
    ),
  ),
});

export const accessTokenStatus = statusWith('`Redeemed`: the token has become a Link.', {
  redeemed: optional(flag('Whether the token has become a Link. It is of no use any more then.')),
});
