/** Which figures there are, and what they should reach: pure. */
import { rows, span, type Figure } from '../cluster/figures.ts';
import type { ScenarioName, Sizes } from './options.ts';
import { SYSTEMS, type System } from './traffic-pods.ts';

/** The table, in its order, for runs of this size. */
export function figuresOf({ rounds, sizes, sites, changes, idleSeconds, trafficSeconds }: Sizes): readonly Figure<ScenarioName>[] {
  const table = rows<ScenarioName>({
    site: rounds,
    link: rounds,
    listener: changes,
    pods: changes,
    traffic: rounds,
    floor: rounds,
    many: rounds,
    idle: 1,
    memory: 1,
    more: 1,
  });
  const { aim, atLeast, explain } = table;
  const [first, ...others] = sizes;
  const idle = `nothing changes for ${span(idleSeconds)} with ${both(first)}`;
  const all = sites.toLocaleString('en');
  return [
    aim('site', 'site-ready', 'Site applied until it is Ready', 3, 's'),
    aim('listener', 'service', 'Listener applied until its Service is there, 99th percentile', 0.3, 's', 'p99'),
    aim('listener', 'answer', 'Listener applied until a client gets an answer over a link that is up', 1.5, 's'),
    aim('many', `services-${first}`, `${both(first)} applied at once in two linked sites: all Services are there`, 4, 's'),
    aim('many', `configured-${first}`, 'the same: all are Configured', 6, 's'),
    aim('many', `ready-${first}`, 'the same: all are Ready', 15, 's'),
    aim('many', `configured-writes-${first}`, 'the same until all are Configured: API writes for each', 2.5),
    aim('many', `configured-reads-${first}`, 'the same until all are Configured: API reads for each', 0),
    aim('idle', 'idle-writes', `${idle}: API writes`, 0),
    aim('idle', 'idle-lists', 'the same: lists', 0),
    aim('idle', 'idle-cpu', 'the same: CPU of the controllers together, of one core', 0.5, '%'),
    aim('memory', 'memory-one', 'resident memory of the leading controller at 1 site with 10 Listeners', 90, 'MB'),
    aim('memory', 'memory-all', `the same at ${all} sites with 10 Listeners each`, 130, 'MB'),
    aim('site', 'router-memory', "resident memory of a router's pod, fresh", 90, 'MB'),
    aim('link', 'link-ready', 'AccessToken applied until its Link is Ready', 2, 's'),
    aim('pods', 'pod-new', 'a pod has the label of a selector until it answers a client over a link, 99th percentile', 1, 's', 'p99'),
    aim('pods', 'pod-gone', 'a pod has it no more until it answers for the last time, 99th percentile', 1, 's', 'p99'),
    atLeast('traffic', 'bulk-1', 'iperf3 from pod to pod over a link, against HAProxy pods with mutual TLS: 1 connection', 0.9, '×'),
    atLeast('traffic', 'bulk-8', 'the same: 8 connections', 0.9, '×'),
    atLeast('traffic', 'keep-alive', 'HTTP keep-alive the same way, wrk, 50 connections: requests', 1, '×'),

    explain('floor', 'floor-applied', `no controller and no router: the same ${both(first)} are applied`, 's'),
    explain('floor', 'floor-services', 'the same, and then as many Services, by the program that applied them', 's'),
    explain('floor', 'floor-configured', 'the same, and then one status for each, by that program', 's'),
    ...costsOf(table, 'many', first),
    ...others.flatMap((size) => [...secondsOf(table, size), ...costsOf(table, 'more', size)]),
    explain('idle', 'idle-router-cpu', `${idle}: CPU of the two routers together, of one core`, '%'),
    explain('idle', 'idle-leases', 'the same: calls for Leases a minute, of controllers and routers', ''),
    explain('memory', 'sites-seconds', `${all} Sites in as many namespaces applied at once, with router pods: all are Ready`, 's'),
    explain('memory', 'sites-controller-writes', 'the same: API writes of the controller for each'),
    explain('memory', 'sites-router-writes', 'the same: API writes of its router for each'),
    explain('memory', 'sites-controller-reads', 'the same: API reads of the controller for each'),
    explain('memory', 'sites-router-reads', 'the same: API reads of its router for each, the lists at its start'),
    explain('memory', 'sites-controller-cpu', 'the same: CPU of the controllers', 's'),
    ...SYSTEMS.flatMap((system) => trafficOf(table, system, trafficSeconds)),
    explain('site', 'site-writes', 'one Site until it is Ready: API writes'),
  ];
}

function costsOf({ explain }: ReturnType<typeof rows<ScenarioName>>, of: ScenarioName, size: number): readonly Figure<ScenarioName>[] {
  return [
    explain(of, `controller-writes-${size}`, `${both(size)}: writes of the controller until all are Ready, for each`),
    explain(of, `router-writes-${size}`, 'the same: of the routers'),
    explain(of, `events-${size}`, 'the same: Kubernetes events among them'),
    explain(of, `reads-${size}`, 'the same: reads of both'),
    explain(of, `controller-cpu-${size}`, 'the same: CPU of the controllers', 's'),
    explain(of, `router-cpu-${size}`, 'the same: CPU of the two routers', 's'),
    explain(of, `kubernetes-cpu-${size}`, 'the same: CPU of the control plane and the nodes', 's'),
    explain(of, `bench-cpu-${size}`, 'the same: CPU of the program that applies and watches', 's'),
    explain(of, `controller-memory-${size}`, 'resident memory of the leading controller then', 'MB'),
    explain(of, `router-memory-${size}`, 'resident memory of the larger router then', 'MB'),
  ];
}

function secondsOf({ explain }: ReturnType<typeof rows<ScenarioName>>, size: number): readonly Figure<ScenarioName>[] {
  return [
    explain('more', `services-${size}`, `${both(size)} applied at once in two linked sites: all Services are there`, 's'),
    explain('more', `configured-${size}`, 'the same: all are Configured', 's'),
    explain('more', `ready-${size}`, 'the same: all are Ready', 's'),
    explain('more', `configured-writes-${size}`, 'the same until all are Configured: API writes for each'),
    explain('more', `configured-reads-${size}`, 'the same until all are Configured: API reads for each'),
  ];
}

function trafficOf({ explain }: ReturnType<typeof rows<ScenarioName>>, system: System, seconds: number): readonly Figure<ScenarioName>[] {
  return [
    explain('traffic', `bulk-1-${system}`, `iperf3 for ${seconds} s, 1 connection, ${WAYS[system]}`, 'Gbit/s'),
    explain('traffic', `bulk-8-${system}`, 'the same: 8 connections', 'Gbit/s'),
    explain('traffic', `keep-alive-${system}`, 'the same way: requests of wrk, 50 connections', 'a second'),
  ];
}

const WAYS: Readonly<Record<System, string>> = {
  haproxy: 'by HAProxy pods',
  earshot: 'by a link',
  direct: "to the server's Service itself",
};

function both(size: number): string {
  const many = size.toLocaleString('en');
  return `${many} Listeners and ${many} Connectors`;
}
