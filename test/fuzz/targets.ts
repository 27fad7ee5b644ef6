import { files } from './files.ts';
import { trust } from './trust.ts';
import { link } from './link.ts';
import { routing } from './routing.ts';
import { session } from './session.ts';
import type { Target } from './target.ts';

export const targets: Readonly<Record<string, Target>> = { session, link, routing, trust, files };
