import { certificates } from './certificates.ts';
import { files } from './files.ts';
import { grantServer } from './grant-server.ts';
import { link } from './link.ts';
import { linkPort } from './link-port.ts';
import { probeFields } from './probe-fields.ts';
import { routing } from './routing.ts';
import { session } from './session.ts';
import { sharedFigures } from './shared-figures.ts';
import type { Target } from './target.ts';
import { trust } from './trust.ts';

export const targets: Readonly<Record<string, Target>> = {
  certificates,
  session,
  link,
  'link-port': linkPort,
  routing,
  'probe-fields': probeFields,
  'shared-figures': sharedFigures,
  trust,
  'grant-server': grantServer,
  files,
};
