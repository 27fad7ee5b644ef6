/** Invariants of certificates that are renewed over their links. */
import { wallClockOf } from './current.ts';
import { isRenewable } from './invariants.ts';
import { TlsHandle } from './node/tls-handle.ts';
import type { DesiredLink, Site } from './site.ts';
import type { World } from './world.ts';

/** Milliseconds between two looks. */
const LOOK = 200;
/** Milliseconds after which one that is due has been renewed, where nothing is in the way: the first try has met something that was. */
const GRACE = 2_000;
/** Milliseconds by which two clocks may differ that agree. */
const APART = 1_000;
/** Milliseconds for which nothing has been in the way of a renewal that must have come to be. */
const CALM = 3_500;

interface Ending {
  readonly link: DesiredLink;
  readonly from: Site;
  readonly to: Site;
  /** Seconds from the world's begin. */
  readonly ends: number;
}

/** Looks now and then whether one ends that would have been renewed, for as long as the world lasts. */
export function watchRenewals(world: World): void {
  const { loop } = world;
  /** Serial number of each certificate at the last scan, and since when it has been calm. */
  const calmSince = new Map<DesiredLink, { readonly serial: string; readonly since: number }>();
  const look = (): void => {
    for (const ending of endings(world)) {
      const { link, from } = ending;
      const { serial } = from.bundleOf(link);
      const before = calmSince.get(link);
      const since = isCalm(ending) && before?.serial === serial ? before.since : loop.now;
      calmSince.set(link, { serial, since });
      const left = leftOf(ending);
      if (left <= 0 && loop.now + left - since >= CALM)
        world.faults.push(`the certificate of ${link.name} has ended, and nothing kept ${from.machine.name} from having it renewed`);
    }
    loop.after(LOOK, undefined, look);
  };
  if (world.plan.renewal !== undefined) look();
}

/** Nothing is in the way of a renewal, and none has come. */
export function overdueRenewals(world: World): string[] {
  const { lifetime = 0 } = world.plan.renewal ?? {};
  return endings(world)
    .filter((ending) => isCalm(ending) && leftOf(ending) > 0 && leftOf(ending) < (lifetime * 1_000) / 2 - GRACE)
    .map(({ link }) => `the certificate of ${link.name} is to be renewed, and is not`);
}

/** A requester of a renewal receives its result. */
export function unansweredQuestions(world: World): string[] {
  return endings(world).flatMap((ending) => {
    const { link, from } = ending;
    const question = from.disk.asked.get(link.name);
    return question !== undefined && question.answer === undefined && isCalm(ending)
      ? [`no answer says whether the certificate of ${link.name} is renewed`]
      : [];
  });
}

/** A certificate that is revoked, or descends from a revoked one, has no connection. */
export function revokedCertificates({ sites }: World): string[] {
  return sites.flatMap(({ machine, revokedSerials, issued }) => {
    if (revokedSerials.size === 0) return [];
    return [...machine.endpoints].flatMap(({ user }) => {
      const serial = user instanceof TlsHandle && user.isSecure ? user.peer?.certificate?.serialNumber : undefined;
      const isRevoked = serial !== undefined && [serial, ...issued.before(serial)].some((one) => revokedSerials.has(one));
      return isRevoked ? [`${machine.name} has a connection by the certificate ${serial}, which is revoked`] : [];
    });
  });
}

function endings(world: World): Ending[] {
  if (world.plan.renewal === undefined) return [];
  return world.sites.flatMap((from) => {
    // The first of two sites on one machine, which have the same links.
    if (from.mate !== undefined && from.mate.index < from.index) return [];
    return from.links.flatMap((link) => {
      const [to, ends] = [world.sites[link.to], from.endsOf(link)];
      return to === undefined || ends === undefined || !from.disk.bundles.has(link.name) ? [] : [{ link, from, to, ends }];
    });
  });
}

const leftOf = ({ from, ends }: Ending): number => wallClockOf(undefined, ends * 1_000) - wallClockOf(from.machine);

/** Its link is up, and nothing delays requester or signer. */
function isCalm({ from, to, link }: Ending): boolean {
  const { machine } = from;
  const path = machine.network.path(machine, to.machine);
  if (Math.abs(wallClockOf(machine) - wallClockOf(to.machine)) > APART) return false;
  if (!isRenewable(from, to, link) || path.isHeldFor(machine) || path.isHeldFor(to.machine)) return false;
  const both = [from, to].flatMap((site) => [site, ...(site.mate === undefined ? [] : [site.mate])]);
  const isUndisturbed = both.every(
    ({ router, plan, disk, machine: { clock, busyUntil, isStarved, network } }) =>
      router !== undefined &&
      plan.lies !== true &&
      disk.trouble === undefined &&
      disk.busyUntil <= network.loop.now &&
      clock.rate === 1 &&
      busyUntil <= network.loop.now &&
      !isStarved,
  );
  const leader = [from, from.mate].find((site) => site?.agent !== undefined && site.agent === from.disk.leader);
  return isUndisturbed && leader?.router?.state.links[link.name]?.operational === true;
}
