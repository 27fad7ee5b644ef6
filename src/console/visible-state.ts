import type { OverviewView } from './contract.ts';
import { nameOf } from '../site/resources.ts';
import { isVisible, mayCountProblems, mayGet, type Permissions } from './permissions.ts';
import type { Watcher } from './watcher.ts';

/** State of a watcher, as one user may see it. */
export type VisibleState = Pick<Watcher, 'facts' | 'figures' | 'problems' | 'keys' | 'history' | 'observed'> & {
  readonly overview: () => ReturnType<Watcher['overview']>;
  readonly site: (id: string) => ReturnType<Watcher['site']>;
};

export function visibleState(watcher: Watcher, permissions: Permissions): VisibleState {
  const { figures, keys, history, observed } = watcher;
  const site: VisibleState['site'] = (id) => watcher.site(id);
  if (permissions.kinds === 'all') {
    return { facts: watcher.facts, figures, problems: watcher.problems, keys, history, observed, site, overview: () => watcher.overview() };
  }
  const { exposure, ...all } = watcher.facts;
  const facts = {
    ...all,
    ...(exposure === undefined || !permissions.exposure ? {} : { exposure: permissions.classes ? exposure : { ...exposure, classes: [] } }),
    objects: watcher.facts.objects.filter((object) => isVisible(permissions, 'resources', `${object.kind}/${nameOf(object)}`)),
    changes: all.changes.filter(({ kind }) => mayGet(permissions, kind)),
    links: mayGet(permissions, 'Link') ? watcher.facts.links : [],
  };
  const problems = watcher.problems.filter(({ object }) => isVisible(permissions, 'problems', object));
  const overview: VisibleState['overview'] = () => watcher.overview(facts, problems);
  if (mayCountProblems(permissions)) return { facts, figures, problems, keys, history, observed, site, overview };
  const uncounted = keys.map((key) => ({ ...key, problems: 0 }));
  return { facts, figures, problems, keys: uncounted, history, observed, site, overview: () => withoutCounts(overview()) };
}

function withoutCounts(overview: OverviewView): OverviewView {
  const { site } = overview;
  return site === undefined ? overview : { ...overview, site: { ...site, headline: site.status } };
}
