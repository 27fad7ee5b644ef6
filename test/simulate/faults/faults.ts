/** Mistakes that the router has had, or might have. `npm run simulate -- --fault NAME` plants one, and must find it. */
import type { Change, PlantedFaults } from '../change.ts';

/** Without this change, a limit hides some of the other faults. */
const COMES_AGAIN: Change = {
  file: 'routing/record-intake.ts',
  from: 'if (this.#isUnreachable(head.id)) {',
  to: 'if (this.#isUnreachable(head.id) && false) {',
};

export const faults: PlantedFaults = {
  'lowered-window': {
    description: 'Streams below zero after a lowered initial window never get their window back.',
    firstSeed: 11,
    changes: [
      {
        file: 'http2/receive-windows.ts',
        from: 'for (const stream of streams.values()) if (!stream.remoteEnded && stream.window < stream.target / 2) this.#credit(stream);',
        to: '',
      },
    ],
  },
  'stalled-sockets': {
    description: 'A paused socket is not checked for a lost peer.',
    firstSeed: 4,
    changes: [
      {
        file: 'router/local/socket-endpoint.ts',
        from: 'get stalled(): boolean {',
        to: 'get stalled(): boolean {\n    if (this.#paused) return false;',
      },
    ],
  },
  'ended-stream': {
    description: 'The bytes that an ended stream still holds are not released when its reader is destroyed.',
    foundBy: 'flow-control.test.ts',
    changes: [{ file: 'http2/stream.ts', from: 'else this.#owner.windows.released(this);', to: '' }],
  },
  'routing-age': {
    description: 'Records of reachable routers expire by age, and no later comparison restores them.',
    firstSeed: 29,
    changes: [
      {
        file: 'routing/routing.ts',
        from: 'for (const id of this.#answers.reachable) this.#database.rejuvenate(id, reading - REFRESH_EVERY);',
        to: '',
      },
      { file: 'routing/exchange.ts', from: 'if (this.#context.clock() - state.compared >= state.every) this.summarize(link);', to: '' },
    ],
  },
  'replaced-links': {
    description: 'Links that another link has replaced outlive the deletion of their Link.',
    firstSeed: 222,
    changes: [
      {
        file: 'router/link/dial/dialer.ts',
        from: 'return [...this.#opened()].some(({ link }) => link.connections.size > 0);',
        to: 'return (this.#current?.opened.link.connections.size ?? 0) > 0;',
      },
      {
        file: 'router/link/dial/dialer.ts',
        from: "for (const { link } of this.#opened()) link.cut(new LinkError('closed', 'The link has been closed.'));",
        to: "this.#current?.opened.link.cut(new LinkError('closed', 'The link has been closed.'));",
      },
    ],
  },
  'ended-before-up': {
    description: 'A link that ends before it is up gets a second connection, which is never closed, and is redialled without a pause.',
    firstSeed: 7,
    changes: [
      {
        file: 'router/link/dial/outgoing.ts',
        from: "this.#end.abort(reason);\n        this.#link?.retire('the peer closed it, as when its router stops or its Link is deleted');",
        to: "this.#link?.retire('the peer closed it, as when its router stops or its Link is deleted');",
      },
      { file: 'router/link/dial/outgoing.ts', from: "if (link.state !== 'joining')", to: 'if (false)' },
      { file: 'router/link/dial/dialer.ts', from: "if (opened.link.state !== 'up')", to: 'if (false)' },
      { file: 'router/link/link.ts', from: "if (this.#state === 'down') {", to: 'if (false) {' },
      { file: 'router/link/session/routing-stream.ts', from: 'if (isAnswered) this.#stream?.end();', to: '' },
    ],
  },
  'sibling-renewal': {
    description: 'The port for routers of the same site keeps the certificate with which it was opened.',
    firstSeed: 3,
    changes: [
      {
        file: 'router/link/configured-links.ts',
        from: 'if (this.#siblingAccess instanceof Access) this.#siblingAccess.apply(access, false);',
        to: 'if (this.#siblingAccess instanceof Access) return;',
      },
    ],
  },
  'openssl-freed': {
    description: 'Connections are handed on, and reset, while OpenSSL is still finishing their handshake.',
    firstSeed: 60,
    changes: [
      {
        file: 'router/local/listening-socket.ts',
        from: "setImmediate(bounded('connection/tls-accepted', handOn, () => void socket.destroy()));",
        to: "bounded('connection/tls-accepted', handOn, () => void socket.destroy())();",
      },
      // Without this, too: it ends most of them before they come that far.
      { file: 'router/local/listening-socket.ts', from: "if (this.#state.kind === 'closed') socket.destroy();", to: 'if (false) {}' },
      {
        file: 'router/local/server-connection.ts',
        from: "setImmediate(bounded('connection/server-handed-on', handOn, broken));",
        to: "bounded('connection/server-handed-on', handOn, broken)();",
      },
    ],
  },
  'late-handshake': {
    description: 'A client whose TLS handshake ends after the Listener was removed is accepted.',
    changes: [
      { file: 'router/local/listening-socket.ts', from: "if (this.#state.kind === 'closed') socket.destroy();", to: 'if (false) {}' },
    ],
  },
  'resumed-sessions': {
    description: "An access resumes TLS sessions without checking the peer's certificate again.",
    firstSeed: 11,
    changes: [{ file: 'router/link/accept/access.ts', from: 'secureOptions: constants.SSL_OP_NO_TICKET,', to: 'secureOptions: 0,' }],
  },
  'edge-guests': {
    description: 'A router that came in by a port for edge sites carries transit traffic if its own record says that it may.',
    firstSeed: 39,
    changes: [
      { file: 'router/link/accept/incoming.ts', from: 'confined: this.#options.edgeOnly,', to: 'confined: false,' },
      { file: 'router/link/accept/incoming.ts', from: 'confined: edgeOnly }', to: 'confined: false }' },
    ],
  },
  'forgotten-places': {
    description: 'The endpoints that a site announced to an earlier process are forgotten.',
    firstSeed: 14,
    changes: [{ file: 'router/link/dial/dialer.ts', from: 'this.#remember(target.remembered);', to: '' }],
  },
  'untold-move': {
    description: 'Links that are up when a site moves are not notified.',
    firstSeed: 16,
    changes: [
      {
        file: 'router/link/configured-links.ts',
        from: "for (const link of this.#host.links.all) if (link.state === 'up') this.#notify(link);",
        to: '',
      },
    ],
  },
  'unnotified-link': {
    description: 'Links that come up after a site has moved are not notified.',
    firstSeed: 14,
    changes: [
      {
        file: 'router/link/configured-links.ts',
        from: 'linkUp(link: Link): void {\n    this.#ended.delete(endKey(link.dialed, link.peer.site.id));\n    this.#notify(link);',
        to: 'linkUp(link: Link): void {\n    this.#ended.delete(endKey(link.dialed, link.peer.site.id));',
      },
    ],
  },
  'unused-places': {
    description: 'The endpoints that a site announces are stored, but never dialled.',
    firstSeed: 14,
    changes: [
      {
        file: 'router/link/dial/link-target.ts',
        from: 'const announced = learned === undefined ? [] : this.ofLearned(learned);',
        to: 'const announced: readonly LinkEndpoint[] = [];',
      },
    ],
  },
  flood: {
    description: 'A new router is announced before the router to evict is known. `comes-again`, which limits the damage, is planted too.',
    firstSeed: 27,
    changes: [
      { file: 'routing/record-intake.ts', from: 'if (isUnknown && database.crowded) this.#provisional.add(head.id);', to: '' },
      COMES_AGAIN,
    ],
  },
  'comes-again': {
    description: 'An evicted router is admitted again whenever it is announced again, so three routers can evict each other forever.',
    foundBy: 'hostile-member.test.ts',
    changes: [COMES_AGAIN],
  },
  'told-younger': {
    description: 'The oldest unreachable routers are evicted first, although each announcement makes a router look younger.',
    foundBy: 'hostile-member.test.ts',
    changes: [
      {
        file: 'routing/eviction.ts',
        from: 'left.cost - right.cost || (left.router.id',
        to: 'left.cost - right.cost || (left.cost === UNREACHABLE ? right.router.created - left.router.created : 0) || (left.router.id',
      },
      COMES_AGAIN,
    ],
  },
  'reset-at-end': {
    description: 'A socket is reset while it is being shut down, so Node.js never closes it.',
    firstSeed: 19,
    changes: [
      {
        file: 'router/local/socket-endpoint.ts',
        from: 'if (isEnding(socket)) resetAfterEnd(socket, raw);\n  else resetNow',
        to: 'resetNow',
      },
    ],
  },
  'closed-at-end': {
    description: 'A reset over TLS while the end is being sent only closes the socket, so the peer never learns of the reset.',
    firstSeed: 2326,
    changes: [
      {
        file: 'router/local/socket-endpoint.ts',
        from: 'if (socket !== raw) setImmediate(',
        to: 'if (socket !== raw) ((run: () => void) => run())(',
      },
    ],
  },
  'one-sided': {
    description: 'A path uses a link that only one end announces.',
    firstSeed: 218,
    changes: [{ file: 'routing/graph.ts', from: 'if (place < first || place >= end) continue;', to: '' }],
  },
  'others-room': {
    description: 'The farthest routers are evicted, even if a nearer site has invented more routers.',
    firstSeed: 218,
    changes: [
      {
        file: 'routing/eviction.ts',
        from: 'const lost = rest.filter(isLost).toReversed();',
        to:
          'const lost = [...rest.filter(isLost).toReversed(), ' +
          '...rest.filter((one) => !isLost(one) && one.router.id !== self && !spared.has(one.router.id)).toReversed()];',
      },
    ],
  },
  'old-cost': {
    description: 'A cost that changes while its link is being opened is forgotten.',
    firstSeed: 629,
    changes: [
      {
        file: 'router/link/dial/dialer.ts',
        from: '    this.#announceCost();\n    if (old !== undefined)',
        to: '    if (old !== undefined)',
      },
    ],
  },
  'dead-peers': {
    description: 'A silent peer is never given up.',
    firstSeed: 33,
    changes: [{ file: 'router/link/session/liveness.ts', from: "if (found === 'dead') {", to: 'if (false) {' }],
  },
  laboratory: {
    description: 'A link is given up after 2.1 s of silence on every path, as if all paths were fast.',
    firstSeed: 52,
    changes: [
      { file: 'router/contract.ts', from: 'deadAfter: 30_000', to: 'deadAfter: 2_100' },
      { file: 'router/link/session/liveness-rule.ts', from: '= [2, 4];', to: '= [0, 0];' },
    ],
  },
  'links-beside': {
    description: 'Each silence opens another link beside the silent ones, until the earliest is cut with its connections.',
    firstSeed: 826,
    changes: [{ file: 'router/link/dial/dialer.ts', from: 'else if (!this.#hasRoomBeside()) await', to: 'else if (false) await' }],
  },
  'short-steps': {
    description: 'Each step of opening a link has only 5 s, too short for round trips of 2 s.',
    firstSeed: 327,
    changes: [{ file: 'router/deadlines.ts', from: 'step: 30_000', to: 'step: 5_000' }],
  },
  'past-epoch': {
    description: 'A router whose clock was set back does not go beyond the epoch of its own earlier record.',
    firstSeed: 18,
    changes: [{ file: 'routing/routing.ts', from: 'this.#contestedEpoch = Math.max(this.#contestedEpoch, epoch);', to: 'void epoch;' }],
  },
  'renewed-access': {
    description: 'Renewing the certificate of an access cuts all connections that came in under the old one.',
    firstSeed: 1125,
    changes: [
      {
        file: 'router/link/accept/access.ts',
        from: 'this.#take(config, sharesPort);',
        to: "const isOld = !sameBundle(this.#config.tls, config.tls); this.#take(config, sharesPort); if (isOld) for (const incoming of this.#incoming) incoming.cut(new LinkError('closed', 'x'));",
      },
    ],
  },
  'answered-late': {
    description: 'A session waits for a request that is answered after its connection has ended.',
    firstSeed: 290,
    changes: [
      { file: 'http2/session.ts', from: "if (this.#state !== 'closed') this.#lingering.add(stream);", to: 'this.#lingering.add(stream);' },
    ],
  },
  'no-greeting': {
    description: 'A newly linked router receives the network only at the next full comparison.',
    firstSeed: 1,
    changes: [{ file: 'routing/exchange.ts', from: 'if (begins) this.summarize(link);', to: '' }],
  },
  'no-flood': {
    description: 'Changes are sent only at the next full comparison.',
    firstSeed: 1,
    changes: [{ file: 'routing/routing.ts', from: 'this.#flood(taken, link);', to: '' }],
  },
  'passing-revoked': {
    description: 'A site that revokes another goes on relaying the open connections of that site.',
    firstSeed: 222,
    changes: [
      {
        file: 'router/router.ts',
        from: 'for (const passing of this.#passing) if (this.isRevoked({ path: pathOf(passing.head.fields) })) passing.cut();',
        to: '',
      },
    ],
  },
  'revoked-path': {
    description: 'A site that revokes another accepts connections of that site by way of other sites.',
    firstSeed: 32,
    changes: [
      {
        file: 'router/router.ts',
        from: 'revokedOf({ ...from, path: pathOf(head.fields) }, this.#revoked) : undefined;',
        to: 'revokedOf(from, this.#revoked) : undefined;',
      },
    ],
  },
  'unshared-ports': {
    description: 'A router keeps its ports to itself when a second router starts on its machine.',
    firstSeed: 4,
    changes: [{ file: 'router/link/configured-links.ts', from: 'known.apply(access, sharesPorts)', to: 'known.apply(access, false)' }],
  },
  'kept-streams': {
    description: "Ended streams stay in their key's share of a link.",
    firstSeed: 1,
    changes: [{ file: 'http2/session.ts', from: 'if (stream.whose !== undefined) this.shares.change(stream.whose, -1);', to: '' }],
  },
  'kept-requests': {
    description: "Requests that were abandoned and answered later stay in their owner's share of memory.",
    firstSeed: 199,
    changes: [{ file: 'http2/session.ts', from: 'if (stream.isLeft) this.#charge(stream, -STREAM_COST);', to: '' }],
  },
  'kept-share': {
    description: "Relayed connections that have ended stay in their owner's share of memory.",
    firstSeed: 1,
    changes: [{ file: 'router/link/relay.ts', from: 'this.#memory.delete(this.#client);', to: '' }],
  },
  'no-room': {
    description: 'A site that has used its share of memory cannot link again while its connections last.',
    foundBy: 'memory.test.ts',
    changes: [{ file: 'memory/memory.ts', from: " || (kind === 'peer' && this.#makeRoom(owner, cost))", to: '' }],
  },
  'let-go-halves': {
    description: "Where memory is used up, only the client's end of a connection is ended.",
    firstSeed: 820,
    changes: [{ file: 'router/connection-half.ts', from: 'this.onReset(why);\n  }\n\n  #waiting', to: '}\n\n  #waiting' }],
  },
  'old-paths': {
    description: 'Paths that could not be computed in time are never computed later.',
    firstSeed: 129,
    changes: [{ file: 'routing/route-table.ts', from: 'if (this.isBehind && this.#time.wait(this.#clock()) === 0)', to: 'if (false)' }],
  },
  'revoked-visitor': {
    description: 'A standard client whose site is revoked stays connected.',
    firstSeed: 193,
    changes: [
      {
        file: 'router/link/accept/access.ts',
        from: 'if (!this.#host.isRevoked(incoming.peer)) continue;',
        to: 'if (incoming.siteId === undefined || !this.#host.isRevoked(incoming.peer)) continue;',
      },
    ],
  },
  'unnamed-visitor': {
    description: 'Other sites do not learn with which certificate a standard client came in.',
    firstSeed: 748,
    changes: [
      {
        file: 'router/via.ts',
        from: 'site === undefined ? (certificate?.sites ?? NONE) : [site]',
        to: 'site === undefined ? NONE : [site]',
      },
    ],
  },
  'ended-visitor': {
    description: 'Open connections of standard clients survive the deletion of their access.',
    firstSeed: 82,
    changes: [
      {
        file: 'router/link/accept/access.ts',
        from: "for (const incoming of this.#incoming) incoming.cut(new LinkError('closed', 'This access has been closed.'));",
        to: "for (const incoming of this.#incoming) incoming.link?.cut(new LinkError('closed', 'This access has been closed.'));",
      },
    ],
  },
  'kept-revisions': {
    description: 'Connections go on under certificates of an access that are too old.',
    firstSeed: 550,
    changes: [{ file: 'router/link/accept/access.ts', from: '  #cutOutdated(): void {\n', to: '  #cutOutdated(): void {\n    return;\n' }],
  },
  'late-revision': {
    description: 'A client that finishes its handshake after the certificate of an access changed is counted under the new certificate.',
    foundBy: 'revisions.test.ts',
    changes: [
      { file: 'router/link/accept/access.ts', from: 'this.#accept(socket, revision)', to: 'this.#accept(socket, this.#revisions.now)' },
    ],
  },
  'one-endpoint': {
    description: 'An unreachable endpoint keeps a link from trying the endpoints after it.',
    firstSeed: 23,
    changes: [
      {
        file: 'router/link/dial/dial-endpoints.ts',
        from: 'if (signal.aborted || !(error instanceof LinkError)) {',
        to: 'if (signal.aborted || error instanceof Error) {',
      },
    ],
  },
  'endless-handshake': {
    description: 'A TLS handshake with an access may take two minutes.',
    firstSeed: 25,
    changes: [{ file: 'router/link/accept/access.ts', from: 'handshakeTimeout: deadlines.step,', to: '' }],
  },
  'own-early-resets': {
    description: 'Clients that come and go at once make the next router take this router for one that resets streams without end.',
    firstSeed: 199,
    changes: [{ file: 'http2/session.ts', from: 'if (!isEarly || this.#ownEarlyResets.take(this.now()))', to: 'if (true)' }],
  },
  'idle-ends': {
    description: 'The empty frames that end many short streams count as frames without data.',
    firstSeed: 8,
    changes: [{ file: 'http2/inbound.ts', from: 'if (this.#isEmpty && !endStream)', to: 'if (this.#isEmpty)' }],
  },
  'crossed-answers': {
    description: 'An answer that crosses the reset of its stream counts as out of order once enough other streams have ended.',
    firstSeed: 758,
    changes: [{ file: 'http2/inbound.ts', from: "if (this.#core.role === 'client' && !this.#isIdle(streamId)) return;", to: '' }],
  },
  'renewed-revoked': {
    description: 'A certificate that is revoked during its renewal gets a successor.',
    firstSeed: 69,
    changes: [
      {
        file: 'trust/revocation.ts',
        from: "if (basis?.kind === 'renewal') refuseRenewal(basis.serial, siteId, siteName, revoked);",
        to: '',
      },
    ],
  },
  'renewed-links': {
    description: 'Connections end with the certificate under which they began, although it was renewed.',
    firstSeed: 2131,
    changes: [
      {
        file: 'router/link/accept/access.ts',
        from: 'if (incoming.expires > now || this.#host.links.vouchFor(incoming.siteId, false, now)) continue;',
        to: 'if (incoming.expires > now) continue;',
      },
    ],
  },
  'asked-again': {
    description: 'A renewal that was asked for starts again at once while its answer cannot be written.',
    firstSeed: 47,
    changes: [{ file: 'agent/renewals.ts', from: ' && !busy.has(name) && !answered.has(linkOf(link))', to: '' }],
  },
  'replaced-meanwhile': {
    description: 'The result of a renewal replaces a certificate that arrived in the meantime.',
    firstSeed: 1982,
    changes: [{ file: 'agent/renewals.ts', from: 'if (!sameBundle(kept, await bundles.get(tls.name)))', to: 'if (false)' }],
  },
  'no-pace': {
    description: 'Certificates are renewed as often as a peer asks.',
    firstSeed: 51,
    changes: [{ file: 'trust/renewal-pace.ts', from: 'if (underWay || until > now) {', to: 'if (underWay) {' }],
  },
  'never-again': {
    description: 'A link whose renewal has ended is never renewed again.',
    firstSeed: 13,
    changes: [{ file: 'agent/renewals.ts', from: 'this.#running.delete(name);', to: '' }],
  },
  'second-line': {
    description: 'The reader of the first line from a router of the same site takes the bytes after it for another line.',
    firstSeed: 662,
    changes: [
      {
        file: 'router/link/accept/sibling-access.ts',
        from: "socket.removeListener('readable', onReadable);\n    resolve(whole);",
        to: 'resolve(whole);',
      },
    ],
  },
};
