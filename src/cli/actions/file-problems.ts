/** Problems that a site would have with the resources of files. The rules are those of its statuses. */
import { BundleChecks } from '../../agent/bundle-checks.ts';
import { checkOrder } from '../../agent/certificates.ts';
import { problemOf } from '../../errors/problem.ts';
import type { Platform } from '../../site/capabilities.ts';
import { ofCertificates } from '../../site/plan/certificates.ts';
import { problemsTogether } from '../../site/plan/field-errors.ts';
import type { ResourceProblem } from '../../site/problem.ts';
import { keyOf, sortResources, type SiteObject } from '../../site/resources.ts';
import { ACCESS_TYPES } from '../../site-controller/access/access-type.ts';
import { observerProblems } from '../../site-controller/observer/observer-problems.ts';
import { specProblems } from '../../site-controller/site/site-spec.ts';
import { refuseSettings } from '../../site-controller/trust/desired-secrets.ts';
import { parseToken } from '../../trust/tokens/token.ts';
import { accessProblems } from './access-problems.ts';
import type { ResourceFile } from './resource-files.ts';

export function fileProblems(files: readonly ResourceFile[], platform: Platform): readonly ResourceProblem[] {
  const objects = [...new Map(files.flatMap((file) => file.objects.map(({ value }) => [keyOf(value), value] as const))).values()];
  const bundles = new Map(files.flatMap((file) => file.bundles.map(({ value }) => [value.name, value] as const)));
  const proxies = new Map(files.flatMap((file) => file.proxies.map(({ value }) => [value.name, value.proxy] as const)));
  const observers = new Map(files.flatMap((file) => (file.observers ?? []).map(({ value }) => [keyOf(value), value] as const)));
  const checks = new BundleChecks();
  const now = Date.now();
  return [
    ...problemsTogether(objects, platform, { bundles, proxies, check: (bundle, use) => checks.check(bundle, use, now).problems }),
    ...objects.flatMap((object) => (platform.capabilities.has('services') ? ofController(object) : ofCertificate(object))),
    ...observerProblems([...observers.values()]),
    ...accessProblems(objects, bundles, platform),
    ...objects.flatMap((object) => (object.kind === 'AccessToken' ? problemsFrom(object, () => parseToken(object, 'the resource')) : [])),
  ];
}

/** Rules of the controller of sites. It may enable only some of the types of access. */
function ofController(object: SiteObject): readonly ResourceProblem[] {
  if (object.kind === 'Certificate') return problemsFrom(object, () => refuseSettings({ certificate: object }));
  if (object.kind !== 'Site') return [];
  return specProblems(object, { enabledTypes: ACCESS_TYPES }).filter(({ code }) => code === 'bad-argument');
}

function ofCertificate(object: SiteObject): readonly ResourceProblem[] {
  if (object.kind !== 'Certificate') return [];
  return problemsFrom(object, () => ofCertificates(sortResources([object]), []).forEach(checkOrder));
}

function problemsFrom(object: SiteObject, check: () => unknown): readonly ResourceProblem[] {
  try {
    check();
    return [];
  } catch (error) {
    return [{ resource: keyOf(object), severity: 'error', ...problemOf(error) }];
  }
}
