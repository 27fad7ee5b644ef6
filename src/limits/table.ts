import type { Rate } from './rate-limiter.ts';

/** Fraction of the time, and milliseconds at once beyond it. */
export interface TimeShare {
  readonly part: number;
  readonly burst: number;
}

/** Milliseconds of a pause that doubles each time. */
export interface DoublingPause {
  readonly first: number;
  readonly max: number;
}

interface Values {
  readonly count: number;
  readonly bytes: number;
  readonly milliseconds: number;
  /** Number of equal parts, one of them being the limit. */
  readonly part: number;
  readonly rate: Rate;
  /** A rate of bytes. */
  readonly byteRate: Rate;
  readonly time: TimeShare;
  readonly pause: DoublingPause;
}

/** The unit determines the type of the value. */
export type LimitValue = { readonly [U in keyof Values]: { readonly unit: U; readonly value: Values[U] } }[keyof Values];

/** A row of docs/reference/limits.md. */
export type Limit = LimitValue & {
  /** Object that is limited, as a noun phrase. */
  readonly name: string;
  /** Follows the value in the document. */
  readonly note?: string;
  /** Each of these has the limit for itself. */
  readonly of: string;
  readonly beyond: string;
  /** Counts the cases beyond the limit, or shows how near it is. */
  readonly metric?: string;
};

const ADMITTED = 'a new one is admitted; the oldest of the address with the most ends';
const BUSY = 'refused with `busy`';
const WAIT = 'the others wait';
const ENDS = 'it ends';
const IGNORED = 'the others are not recorded';
const CALM = 'the session ends with `ENHANCE_YOUR_CALM`';
const GRANT_REFUSED = 'the grant is not valid; its status says so';
const PEERS_REFUSED = 'earshot_router_peers_refused_total';
const CLIENTS_REFUSED = 'earshot_router_clients_refused_total';

const unauthenticated = {
  accessHandshakes: { name: 'handshakes in progress', unit: 'count', value: 512, of: 'an access port', beyond: ADMITTED },
  accessHandshakesOfAddress: { name: '', unit: 'count', value: 64, of: 'one address at an access port', beyond: 'the same' },
  listenerHandshakes: {
    name: '',
    unit: 'count',
    value: 1_024,
    note: ', and an eighth of the counted memory (about 100 with 256 MiB)',
    of: 'all Listeners with TLS',
    beyond: 'the same',
    metric: CLIENTS_REFUSED,
  },
  handshakeStarts: {
    name: 'handshakes started',
    unit: 'rate',
    value: { burst: 4, perSecond: 100 },
    note: ', newest first',
    of: 'one address at an access port or the grant port',
    beyond: 'others of the address wait; other addresses do not',
  },
  unscheduledHandshakes: {
    name: 'handshakes in progress that are not read one in each event-loop iteration',
    unit: 'count',
    value: 16,
    of: 'Listeners that request no certificates; all other ports: none',
    beyond: 'they are read so, round-robin by address',
  },
  handshakeWork: {
    name: 'work for a handshake',
    unit: 'milliseconds',
    value: 5,
    of: 'one step of a handshake',
    beyond: 'its address pauses; all others pause once for the time beyond',
  },
  handshakePause: {
    name: 'pause after a costly handshake, 10 times the time beyond',
    unit: 'milliseconds',
    value: 10_000,
    of: 'one address',
    beyond: 'never longer',
  },
  handshakeBytes: { name: 'bytes until a handshake ends', unit: 'bytes', value: 16_384, of: 'one accepted connection', beyond: ENDS },
  dialedHandshakeBytes: {
    name: '',
    unit: 'bytes',
    value: 32_768,
    of: 'one dialed connection; one connection at the grant port, in all',
    beyond: ENDS,
  },
  grantConnections: { name: 'connections', unit: 'count', value: 512, of: 'the grant port', beyond: ADMITTED },
  grantConnectionsOfAddress: { name: '', unit: 'count', value: 128, of: 'one address at the grant port', beyond: 'the same' },
  grantRequests: { name: 'requests', unit: 'count', value: 1, of: 'one connection at the grant port', beyond: ENDS },
  grantBodyBytes: {
    name: 'request body',
    unit: 'bytes',
    value: 16_384,
    of: 'one redemption at the grant port',
    beyond: 'refused with 413',
  },
  redemptionsAtOnce: {
    name: 'redemptions at once',
    unit: 'count',
    value: 8,
    of: 'the grant port',
    beyond: 'the others wait, round-robin by address',
  },
  wrongCodes: { name: 'wrong codes before a pause', unit: 'count', value: 5, of: 'one address', beyond: '429 with `retry-after`' },
  wrongCodePause: {
    name: 'pause after each further wrong code',
    unit: 'pause',
    value: { first: 1_000, max: 900_000 },
    of: 'one address',
    beyond: 'the same',
  },
  wrongCodesOfAll: {
    name: 'wrong codes of `spec.code`',
    unit: 'rate',
    value: { burst: 200, perSecond: 2 },
    of: 'all addresses',
    beyond: 'redeemers of such codes wait',
  },
  guessers: {
    name: 'addresses with wrong codes',
    unit: 'count',
    value: 4_096,
    of: 'the grant port',
    beyond: 'the one without guesses for longest is evicted',
  },
  repeatedAnswers: {
    name: 'repeated answers before a pause',
    unit: 'count',
    value: 5,
    of: 'one redemption',
    beyond: '429 with `retry-after`',
  },
  repeatedAnswerPause: {
    name: 'pause after each further answer',
    unit: 'pause',
    value: { first: 1_000, max: 86_400_000 },
    of: 'one redemption',
    beyond: 'the same',
  },
  telemetryConnections: { name: 'connections', unit: 'count', value: 64, of: 'the port for metrics and probes', beyond: ADMITTED },
  telemetryConnectionsOfAddress: {
    name: '',
    unit: 'count',
    value: 16,
    of: 'one address at the port for metrics and probes',
    beyond: 'the same',
  },
  telemetryRequests: { name: 'requests', unit: 'count', value: 256, of: 'one connection at the port for metrics and probes', beyond: ENDS },
  telemetryBytes: {
    name: 'bytes at once',
    unit: 'bytes',
    value: 4_096,
    of: 'one connection at the port for metrics and probes',
    beyond: 'it ends with 431',
  },
  renderings: {
    name: 'renderings of metrics',
    unit: 'rate',
    value: { burst: 10, perSecond: 10 },
    of: 'a process',
    beyond: 'the last one is repeated',
  },
  keyUpdates: {
    name: 'TLS key updates, and offers to resume',
    unit: 'rate',
    value: { burst: 64, perSecond: 1 },
    of: 'one connection',
    beyond: ENDS,
  },
} satisfies Readonly<Record<string, Limit>>;

const linked = {
  connectionsOfPeer: {
    name: 'connections',
    unit: 'count',
    value: 16,
    of: 'one site at an access port',
    beyond: 'for a new link, those that earlier links left behind end; otherwise refused',
    metric: PEERS_REFUSED,
  },
  connectionsBesideSilent: {
    name: 'connections with which a link is opened beside a silent one',
    unit: 'count',
    value: 8,
    of: 'one Link at its dialing side',
    beyond: 'none is opened until one recovers or ends',
  },
  closingSockets: {
    name: 'sockets of closed sessions, for at most 10 s',
    unit: 'count',
    value: 256,
    of: 'a router',
    beyond: 'the oldest of the site with the most ends',
  },
  closingSocketsOfPeer: { name: '', unit: 'count', value: 16, of: 'one site', beyond: 'the oldest ends' },
  announcedEndpoints: { name: 'announced endpoints', unit: 'count', value: 64, of: 'one site', beyond: 'the others are ignored' },
  renewalSpacing: {
    name: 'time between renewals',
    unit: 'milliseconds',
    value: 60_000,
    note: ', or a sixteenth of the certificate’s life if that is shorter',
    of: 'one site',
    beyond: '`renew-early`, with the time to come back',
  },
  repeatedRenewalPause: {
    name: 'longest pause between repeated renewals, in such times',
    unit: 'count',
    value: 1_440,
    note: ' (a day)',
    of: 'one certificate; one site in the first half of a certificate’s life',
    beyond: 'the pause doubles until then; `renew-early`',
  },
  networkStatusWrites: {
    name: 'writes of `skupper-network-status`',
    unit: 'rate',
    value: { burst: 10, perSecond: 0.1 },
    of: 'a router',
    beyond: 'the next write has the latest state',
  },
  probesOfPeer: { name: 'probes of paths', unit: 'rate', value: { burst: 20, perSecond: 5 }, of: 'one peer', beyond: 'answered 503' },
  probeTime: {
    name: 'time for a probe',
    unit: 'milliseconds',
    value: 6_000,
    of: 'one request, where it begins and at routers that forward it',
    beyond: ENDS,
  },
  probingPeers: { name: 'peers that probe', unit: 'count', value: 1_024, of: 'a router', beyond: 'the least recent one is forgotten' },
  observationsOfPeer: {
    name: 'requests for figures',
    unit: 'rate',
    value: { burst: 20, perSecond: 5 },
    of: 'one peer, at the router that answers',
    beyond: 'answered 503',
  },
  observingPeers: {
    name: 'peers that request figures',
    unit: 'count',
    value: 1_024,
    of: 'a router',
    beyond: 'the least recent one is forgotten',
  },
  observationTime: {
    name: 'time for figures',
    unit: 'milliseconds',
    value: 5_000,
    of: 'one request, at both ends and at routers that forward it',
    beyond: ENDS,
  },
  observationBytes: { name: 'answer with figures', unit: 'bytes', value: 65_536, of: 'a router of another site', beyond: 'not read' },
  forwardedQuestionBytes: {
    name: 'bytes of a probe or a request for figures',
    unit: 'bytes',
    value: 65_536,
    of: 'each direction of one that a router forwards',
    beyond: ENDS,
  },
  observedLinks: { name: 'links in it', unit: 'count', value: 256, of: 'one answer', beyond: 'links that are up are left out' },
  observationsAtOnce: {
    name: 'sites that are asked for figures at once',
    unit: 'count',
    value: 32,
    of: 'a router, for clients of its API',
    beyond: 'answered 503',
  },
  endedLinks: { name: 'ended links that a status shows', unit: 'count', value: 128, of: 'a router', beyond: 'the oldest is left out' },
  statusFileWrites: {
    name: 'writes of a status file, of 64 KiB each',
    unit: 'rate',
    value: { burst: 8, perSecond: 1 },
    of: 'one file of a site on a machine',
    beyond: 'the next write has the latest state',
  },
} satisfies Readonly<Record<string, Limit>>;

const sessions = {
  concurrentStreams: { name: 'open streams', unit: 'count', value: 32_768, of: 'each direction of a link', beyond: BUSY },
  requestsWaiting: {
    name: 'fields of requests that wait',
    unit: 'bytes',
    value: 1_048_576,
    of: 'a session, in fair shares of routing keys',
    beyond: 'answered with 503',
  },
  headerListBytes: { name: 'fields', unit: 'bytes', value: 16_384, of: 'one request or response', beyond: 'the stream ends' },
  unconsumedBytes: {
    name: 'bytes received and not consumed',
    unit: 'bytes',
    value: 25_165_824,
    of: 'a session',
    beyond: 'flow control stops the peer',
  },
  answersQueued: { name: 'answers that wait for the peer', unit: 'bytes', value: 262_144, of: 'a session', beyond: CALM },
  controlQueued: {
    name: 'control frames that wait for the peer',
    unit: 'bytes',
    value: 4_194_304,
    of: 'a session',
    beyond: 'the session gets no new streams, or ends',
  },
  idleFrames: { name: 'frames without effect', unit: 'rate', value: { burst: 10_000, perSecond: 5_000 }, of: 'a session', beyond: CALM },
  earlyResets: {
    name: 'streams that are reset before their answer',
    unit: 'rate',
    value: { burst: 10_000, perSecond: 2_000 },
    of: 'a session',
    beyond: CALM,
  },
  routingQueued: {
    name: 'routing messages that wait for the peer',
    unit: 'bytes',
    value: 33_554_432,
    of: 'a link',
    beyond: 'the link ends with `too-slow`',
  },
  routingArrivals: {
    name: 'routing messages that arrive',
    unit: 'byteRate',
    value: { burst: 67_108_864, perSecond: 8_388_608 },
    of: 'a link',
    beyond: 'flow control slows the peer down',
  },
} satisfies Readonly<Record<string, Limit>>;

const routing = {
  routers: { name: 'routers', unit: 'count', value: 4_096, of: 'a network', beyond: 'routers are evicted' },
  routersOfSite: { name: '', unit: 'count', value: 16, of: 'one site', beyond: IGNORED },
  routingKeys: { name: 'routing keys', unit: 'count', value: 65_536, of: 'a network', beyond: 'routers are evicted' },
  routingKeysOfRouter: { name: '', unit: 'count', value: 16_384, of: 'one router', beyond: 'its record is refused' },
  neighbours: { name: 'links between routers', unit: 'count', value: 16_384, of: 'a network', beyond: 'routers are evicted' },
  neighboursOfRouter: { name: '', unit: 'count', value: 2_048, of: 'one router', beyond: 'its record is refused' },
  routingRecordBytes: { name: 'routing records', unit: 'bytes', value: 67_108_864, of: 'a router', beyond: 'routers are evicted' },
  pathRouters: { name: 'routers on a path', unit: 'count', value: 32, of: 'a path', beyond: 'the destination is unreachable' },
  destinationsOfKey: { name: 'destinations, the nearest first', unit: 'count', value: 256, of: 'one routing key', beyond: 'not used' },
  ownReleases: {
    name: 'announced changes',
    unit: 'rate',
    value: { burst: 8, perSecond: 5 },
    of: 'a router',
    beyond: 'sent together later',
  },
  contestsAnswered: {
    name: 'answers to newer records of itself that it did not write',
    unit: 'rate',
    value: { burst: 3, perSecond: 0.1 },
    of: 'a router',
    beyond: 'sent later',
  },
  recordsOfRouter: {
    name: 'new records',
    unit: 'rate',
    value: { burst: 1_024, perSecond: 50 },
    of: 'one router',
    beyond: 'dropped until the links compare again',
  },
  recordsOfLink: { name: '', unit: 'rate', value: { burst: 32_768, perSecond: 1_000 }, of: 'one link', beyond: 'the same' },
  returnsOfRouter: {
    name: 'returns of an evicted router',
    unit: 'rate',
    value: { burst: 8, perSecond: 0.1 },
    of: 'one router',
    beyond: IGNORED,
  },
  returningRouters: {
    name: 'evicted routers whose returns are counted',
    unit: 'count',
    value: 16_384,
    of: 'a router',
    beyond: 'the least recently used is evicted',
  },
  evictionSearches: {
    name: 'searches for a record to evict',
    unit: 'rate',
    value: { burst: 8, perSecond: 1 },
    of: 'a router',
    beyond: 'a second later',
  },
  unknownRoutersOfLink: {
    name: 'requests for records of routers that would evict others',
    unit: 'rate',
    value: { burst: 32, perSecond: 0.5 },
    of: 'one link',
    beyond: 'requested later',
  },
  digestsOfLink: { name: 'digests sent', unit: 'rate', value: { burst: 16, perSecond: 1 }, of: 'one link', beyond: 'sent later' },
  answersOfLink: {
    name: 'answered requests for records',
    unit: 'rate',
    value: { burst: 64, perSecond: 8 },
    of: 'one link',
    beyond: 'answered later',
  },
  comparison: {
    name: 'time between comparisons of routing records',
    unit: 'milliseconds',
    value: 30_000,
    of: 'one link',
    beyond: 'never sooner',
  },
  messageTime: { name: 'CPU time for routing messages', unit: 'time', value: { part: 0.25, burst: 3 }, of: 'one peer', beyond: WAIT },
  pathTime: { name: 'CPU time for paths', unit: 'time', value: { part: 0.1, burst: 4 }, of: 'a router', beyond: 'computed later' },
  choiceTime: {
    name: 'CPU time for the choice among routers of one key',
    unit: 'time',
    value: { part: 0.1, burst: 4 },
    of: 'a router',
    beyond: 'computed later',
  },
  evictionTime: {
    name: 'CPU time for evictions from routing',
    unit: 'time',
    value: { part: 0.05, burst: 10 },
    of: 'a router',
    beyond: 'a second later',
  },
} satisfies Readonly<Record<string, Limit>>;

const connections = {
  openFiles: {
    name: 'open files',
    unit: 'count',
    value: 1_048_576,
    of: 'a process that `earshot system install` runs; `ulimit -Hn` for others',
    beyond: 'see the next row',
  },
  reservedFiles: { name: 'reserved files', unit: 'part', value: 20, of: 'the open files of a process', beyond: BUSY },
  reservedFilesLeast: { name: '', unit: 'count', value: 128, note: ' at least', of: 'a process', beyond: BUSY },
  filesOfLinks: { name: '', unit: 'part', value: 4, of: 'the reserved files: all links', beyond: BUSY },
  filesOfUnauthenticated: {
    name: '',
    unit: 'part',
    value: 8,
    of: 'the reserved files: unauthenticated clients of one port',
    beyond: ADMITTED,
  },
  uncountedMemory: { name: 'memory that is not counted', unit: 'bytes', value: 134_217_728, of: 'a router', beyond: 'see the next row' },
  countedMemory: {
    name: 'counted memory',
    unit: 'part',
    value: 2,
    note: ' of the rest',
    of: 'a router',
    beyond: 'connections of the largest owner end',
    metric: 'earshot_router_memory_ended_total',
  },
  handshakeMemory: {
    name: 'memory of handshakes',
    unit: 'part',
    value: 8,
    note: ' of the counted memory',
    of: 'a router',
    beyond: ADMITTED,
  },
  tlsBuffer: { name: 'memory of an end with TLS', unit: 'bytes', value: 65_536, of: 'one connection', beyond: 'no more is read at once' },
  memorySearchTime: {
    name: 'CPU time to make room for a link',
    unit: 'time',
    value: { part: 0.05, burst: 50 },
    of: 'one owner',
    beyond: 'the connection of the link is refused',
    metric: 'earshot_router_memory_refused_total',
  },
  hostNames: { name: 'host names known', unit: 'count', value: 1_024, of: 'a process', beyond: 'the oldest is asked for again' },
} satisfies Readonly<Record<string, Limit>>;

const tokens = {
  redemptionsAllowed: { name: '`spec.redemptionsAllowed`', unit: 'count', value: 10_000, of: 'one AccessGrant', beyond: GRANT_REFUSED },
  codeCharacters: { name: 'characters of `spec.code`', unit: 'count', value: 1_024, of: 'one AccessGrant', beyond: GRANT_REFUSED },
  tokenBytes: { name: 'file', unit: 'bytes', value: 131_072, of: 'one token', beyond: 'refused as damaged' },
  tokenUrls: { name: 'URLs', unit: 'count', value: 8, of: 'one token', beyond: 'refused as damaged' },
  redemptionTime: {
    name: 'time, without redirects',
    unit: 'milliseconds',
    value: 30_000,
    of: 'one attempt to redeem',
    beyond: 'it fails and is retried',
  },
  redemptionAnswer: { name: 'answer', unit: 'bytes', value: 1_048_576, of: 'one attempt to redeem', beyond: 'it fails and is retried' },
  answerMessage: {
    name: 'characters of an answer’s `message`',
    unit: 'count',
    value: 500,
    of: 'the status of one AccessToken',
    beyond: 'cut',
  },
  redemptionAttempts: { name: 'attempts at once', unit: 'count', value: 8, of: 'one site', beyond: WAIT },
} satisfies Readonly<Record<string, Limit>>;

const clusters = {
  sites: { name: 'Sites', unit: 'count', value: 16, of: 'one namespace', beyond: 'the newest are not managed' },
  routerAccesses: { name: 'RouterAccesses', unit: 'count', value: 64, of: 'one namespace', beyond: 'the same' },
  securedAccesses: { name: 'SecuredAccesses', unit: 'count', value: 256, of: 'one namespace', beyond: 'the same' },
  certificates: { name: 'Certificates', unit: 'count', value: 4_096, of: 'one namespace', beyond: 'the same' },
  listeners: { name: 'Listeners (skupper.io)', unit: 'count', value: 4_096, of: 'one namespace', beyond: 'the same' },
  networkObservers: { name: 'NetworkObservers', unit: 'count', value: 4, of: 'one namespace', beyond: 'the same' },
  connectors: { name: 'Connectors', unit: 'count', value: 4_096, of: 'one namespace', beyond: 'the same' },
  labelTemplates: { name: 'label templates', unit: 'count', value: 64, of: 'one namespace', beyond: 'the first by name have effect' },
  listenersAtOnce: {
    name: 'Listeners (listeners.stackable.tech) that are reconciled at the same time',
    unit: 'count',
    value: 4,
    of: 'one namespace',
    beyond: WAIT,
  },
  certificateHosts: { name: 'hosts', unit: 'count', value: 128, of: 'one SecuredAccess in its Certificate', beyond: 'left out' },
  namedSecrets: {
    name: 'Secrets that resources name',
    unit: 'count',
    value: 4_096,
    of: 'the routers of one Site',
    beyond: 'not read; the Site says so',
  },
  namedPods: {
    name: 'pods that are reached by their names',
    unit: 'count',
    value: 1_000,
    of: 'one Listener with `exposePodsByName`',
    beyond: 'left out; the Listener says so',
  },
  otherResources: { name: 'resources of each other kind', unit: 'count', value: 1_024, of: 'one namespace', beyond: 'the same' },
  events: {
    name: 'events',
    unit: 'rate',
    value: { burst: 50, perSecond: 20 },
    of: 'a process',
    beyond: WAIT,
    metric: 'earshot_events_total',
  },
  eventsOfObject: { name: '', unit: 'rate', value: { burst: 10, perSecond: 1 / 60 }, of: 'one object', beyond: 'dropped' },
  eventsQueued: { name: 'events that wait', unit: 'count', value: 1_000, of: 'a process', beyond: 'dropped' },
  exposedObjects: {
    name: 'exposed Listeners, pods that mount them, and ListenerClasses, each',
    unit: 'count',
    value: 1_000,
    of: 'one namespace in `check` and in the console',
    beyond: 'not examined, and the answer says so',
  },
} satisfies Readonly<Record<string, Limit>>;

const machines = {
  bundles: { name: 'TLS bundles', unit: 'count', value: 2_000, of: 'one folder of a site on a machine', beyond: 'left out' },
  manifestBytes: { name: 'manifests from a URL', unit: 'bytes', value: 16_777_216, of: 'one `earshot apply -f URL`', beyond: 'refused' },
} satisfies Readonly<Record<string, Limit>>;

const metrics = {
  siteSeries: { name: 'sites with metrics of their own', unit: 'count', value: 1_000, of: 'a router', beyond: 'they have none' },
  requestSeriesOfKey: {
    name: 'sites and protocols with request metrics or connection counts of their own',
    unit: 'count',
    value: 100,
    of: 'one routing key',
    beyond: 'they share those of `(other)`',
  },
  requestSeries: { name: '', unit: 'count', value: 1_000, of: 'a router', beyond: 'the same' },
  pipelinedRequests: {
    name: 'HTTP/1 requests without an answer',
    unit: 'count',
    value: 1_000,
    of: 'one observed connection',
    beyond: 'it is not observed any more',
  },
  observedStreams: {
    name: 'HTTP/2 requests without an answer',
    unit: 'count',
    value: 256,
    of: 'one observed connection',
    beyond: 'the oldest is not counted',
  },
} satisfies Readonly<Record<string, Limit>>;

const records = {
  recordsWritten: {
    name: 'records of connections',
    unit: 'rate',
    value: { burst: 200, perSecond: 200 },
    note: ', failed ones and ended ones each',
    of: 'a router',
    beyond: 'one for each of 200 keys a second, round-robin; `of` counts the others',
  },
  recordTexts: {
    name: 'different texts in records of ended connections',
    unit: 'count',
    value: 4_096,
    of: 'clients of Listeners, and other routers',
    beyond: 'null: the least recently used is evicted',
  },
  recordsListed: {
    name: 'records examined',
    unit: 'count',
    value: 5_000,
    of: 'one request for connections',
    beyond: 'left to the next page',
  },
  recordsOfPage: { name: 'connections in an answer', unit: 'count', value: 1_000, of: 'the same', beyond: 'the same' },
  requestRecords: { name: 'records of requests', unit: 'count', value: 8_192, of: 'a router', beyond: 'the oldest is evicted' },
  requestsRecorded: {
    name: '',
    unit: 'rate',
    value: { burst: 100, perSecond: 100 },
    of: 'a router',
    beyond: 'not recorded; `of` counts the others',
  },
  requestPath: { name: 'characters of a path', unit: 'count', value: 128, of: 'one record of a request', beyond: 'cut' },
  conditionChanges: { name: 'changes of conditions', unit: 'count', value: 512, of: 'a router', beyond: 'the oldest is evicted' },
} satisfies Readonly<Record<string, Limit>>;

const logs = {
  logLines: {
    name: 'log lines that clients can cause',
    unit: 'rate',
    value: { burst: 20, perSecond: 1 },
    of: 'one cause, and for links one peer',
    beyond: 'not written; the next line has their number in `withheld`',
  },
  logPeers: {
    name: 'peers with log lines of their own',
    unit: 'count',
    value: 1_024,
    of: 'a router',
    beyond: 'the others share one limit',
  },
  logBytes: {
    name: 'log lines that wait for standard output',
    unit: 'bytes',
    value: 1_048_576,
    of: 'a process',
    beyond: 'dropped',
    metric: 'earshot_log_lines_dropped_total',
  },
} satisfies Readonly<Record<string, Limit>>;

const consoles = {
  consolePages: { name: 'open pages', unit: 'count', value: 64, of: 'a console', beyond: 'the least recently used is signed out' },
  consoleStreams: {
    name: 'streams of changes',
    unit: 'count',
    value: 64,
    of: 'a console',
    beyond: 'the user with the most gives one up for a user with fewer; otherwise refused with 503',
  },
  consoleBehind: {
    name: 'bytes that wait for a page',
    unit: 'bytes',
    value: 1_048_576,
    of: 'one stream',
    beyond: 'it ends, and the page connects again',
  },
  consoleEvents: {
    name: 'changes kept for pages that connect again',
    unit: 'count',
    value: 1_024,
    of: 'a console',
    beyond: 'the page reads everything again',
  },
  consoleChanges: { name: 'changed objects in them', unit: 'count', value: 5_000, of: 'a console', beyond: 'the same' },
  consoleProbes: { name: 'probes', unit: 'rate', value: { burst: 5, perSecond: 0.5 }, of: 'a console', beyond: 'refused with 429' },
  consoleObservations: { name: 'other sites that are asked for figures at once', unit: 'count', value: 8, of: 'a console', beyond: WAIT },
  consoleObservedSites: { name: 'other sites with figures', unit: 'count', value: 1_000, of: 'a console', beyond: 'no figures' },
  consoleIds: { name: 'routing keys', unit: 'count', value: 200, of: 'one stream that names them', beyond: 'the others are not reported' },
  consoleConnections: { name: 'connections', unit: 'count', value: 256, of: 'a console', beyond: 'refused' },
  consoleUnauthenticated: {
    name: 'connections without a valid bearer token so far',
    unit: 'count',
    value: 64,
    of: 'a console',
    beyond: ADMITTED,
  },
  consoleRequests: { name: 'requests without an answer', unit: 'count', value: 1, of: 'one connection', beyond: ENDS },
  consoleBody: { name: 'request body', unit: 'bytes', value: 1_024, of: 'one request to open a page', beyond: 'refused with 401' },
  consolePageItems: { name: 'objects', unit: 'count', value: 5_000, of: 'one answer of the API', beyond: 'it has a cursor to the next' },
  consoleKeys: { name: 'routing keys', unit: 'count', value: 10_000, of: 'a console', beyond: 'not shown' },
  consoleTokens: {
    name: 'tokens with a cached review',
    unit: 'count',
    value: 1_024,
    of: 'a console in a cluster',
    beyond: 'the least recently used is reviewed again',
  },
  consoleAttemptsOfAddress: {
    name: 'reviews of unknown tokens, and unknown passwords',
    unit: 'rate',
    value: { burst: 20, perSecond: 5 },
    of: 'one address at a console in a cluster',
    beyond: 'refused with 429',
  },
  consoleAttempts: { name: '', unit: 'rate', value: { burst: 200, perSecond: 20 }, of: 'all addresses', beyond: 'the same' },
  consoleAttemptAddresses: {
    name: 'addresses whose attempts are counted',
    unit: 'count',
    value: 1_024,
    of: 'a console in a cluster',
    beyond: 'the least recent one is forgotten',
  },
  consoleAnswer: { name: "bytes of a router's answer", unit: 'bytes', value: 33_554_432, of: 'a router in a cluster', beyond: 'not read' },
  consoleSites: { name: 'sites, and links of one site', unit: 'count', value: 10_000, of: 'a console', beyond: 'not shown' },
  consoleExposedParts: {
    name: 'addresses, pods, volumes and events, each',
    unit: 'count',
    value: 200,
    of: 'one exposed object',
    beyond: 'the others are not shown',
  },
  consolePaths: { name: 'paths', unit: 'count', value: 500, of: 'one routing key in the network', beyond: 'not shown' },
  consoleHistoryFile: {
    name: 'file of the history',
    unit: 'bytes',
    value: 268_435_456,
    of: 'a console with `--history`',
    beyond: 'history goes on in memory, and the page says so',
  },
  consoleYaml: { name: 'YAML', unit: 'bytes', value: 65_536, of: 'one exposed object', beyond: 'cut' },
} satisfies Readonly<Record<string, Limit>>;

/** By title of the section in docs/reference/limits.md. */
export const limitSections = {
  'Unauthenticated clients': unauthenticated,
  'Linked sites': linked,
  'Sessions of links': sessions,
  Routing: routing,
  'Connections and memory': connections,
  AccessTokens: tokens,
  Clusters: clusters,
  Machines: machines,
  Metrics: metrics,
  'Records of connections': records,
  Logs: logs,
  Console: consoles,
} as const;

/**
 * The limits of the program. The code takes its numbers from here, and `npm run generate` writes docs/reference/limits.md. Numbers that no
 * peer, client or user can reach stay with their code.
 */
export const limitTable = {
  ...unauthenticated,
  ...linked,
  ...sessions,
  ...routing,
  ...connections,
  ...tokens,
  ...clusters,
  ...machines,
  ...metrics,
  ...records,
  ...logs,
  ...consoles,
} as const;
