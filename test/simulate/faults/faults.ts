/** Mistakes that the router has had, or might have, to be put back in: the simulator shows that it finds them (`npm run simulate -- --fault NAME`). */
import type { Change } from '../change.ts';

/** By this one others come to light, which the bound on it hides. */
const COMES_AGAIN: Change = {
  file: 'router/routing/intake.ts',
  from: 'if (this.#isAway(head.id)) {',
  to: 'if (this.#isAway(head.id) && false) {',
};

export const faults: Readonly<Record<string, readonly Change[]>> = {
  // Streams that a lowered initial window had pushed below zero were never given any of it back.
  'lowered-window': [
    {
      file: 'router/http2/receive-windows.ts',
      from: 'for (const stream of streams.values()) if (!stream.remoteEnded && stream.window < stream.target / 2) this.#credit(stream);',
      to: '',
    },
  ],
  // A paused socket was not asked whether its peer was there.
  'stalled-sockets': [
    {
      file: 'router/local/socket-end.ts',
      from: 'get stalled(): boolean {',
      to: 'get stalled(): boolean {\n    if (this.#paused) return false;',
    },
  ],
  // What a stream that had ended still held was not given back when its reader died.
  'ended-stream': [{ file: 'router/http2/stream.ts', from: 'else this.#owner.windows.released(this);', to: '' }],
  // Age decided about routers that can be reached, and nothing brought back what was missing.
  'routing-age': [
    {
      file: 'router/routing/routing.ts',
      from: 'for (const id of this.#answers.reachable) this.#database.rejuvenate(id, reading - REFRESH_EVERY);',
      to: '',
    },
    {
      file: 'router/routing/exchange.ts',
      from: 'if (this.#context.clock() - state.compared >= state.every) this.summarize(link);',
      to: '',
    },
  ],
  // Links that another had replaced were forgotten when their link was deleted.
  'replaced-links': [
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
  // A link that ended before it was up got a second connection, which nobody closed, and was tried again without a pause.
  'ended-before-up': [
    {
      file: 'router/link/dial/outgoing.ts',
      from: "this.#end.abort(reason);\n        this.#link?.retire('the peer ended its routing stream');",
      to: "this.#link?.retire('the peer ended its routing stream');",
    },
    { file: 'router/link/dial/outgoing.ts', from: "if (link.state !== 'joining')", to: 'if (false)' },
    { file: 'router/link/dial/dialer.ts', from: "if (opened.link.state !== 'up')", to: 'if (false)' },
    { file: 'router/link/link.ts', from: "if (this.#state === 'down') {", to: 'if (false) {' },
    { file: 'router/link/session/routing-stream.ts', from: 'if (isAnswered) this.#stream?.end();', to: '' },
  ],
  // The port for routers of one site kept the certificate with which it was opened.
  'sibling-renewal': [
    {
      file: 'router/link/configured-links.ts',
      from: 'if (this.#siblingAccess instanceof Access) this.#siblingAccess.apply(access, false);',
      to: 'if (this.#siblingAccess instanceof Access) return;',
    },
  ],
  // Connections were handed on while OpenSSL was at work on their handshake, and one that nobody could serve was reset there and then.
  'openssl-freed': [
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
  // Who ended the TLS handshake after the Listener was taken away was let in.
  'late-handshake': [
    { file: 'router/local/listening-socket.ts', from: "if (this.#state.kind === 'closed') socket.destroy();", to: 'if (false) {}' },
  ],
  // TLS sessions were resumed, whatever had become of the peer's certificate.
  'resumed-sessions': [
    { file: 'router/link/accept/access.ts', from: 'secureOptions: constants.SSL_OP_NO_TICKET,', to: 'secureOptions: 0,' },
  ],
  // Who came in by a port for edge sites was transit for others, if its record said that it is none.
  'edge-guests': [
    { file: 'router/link/accept/incoming.ts', from: 'confined: this.#options.edgeOnly,', to: 'confined: false,' },
    { file: 'router/link/accept/incoming.ts', from: 'confined: edgeOnly }', to: 'confined: false }' },
  ],
  // Where a site was reached, as it had said to an earlier process, was forgotten.
  'forgotten-places': [{ file: 'router/link/dial/dialer.ts', from: 'this.#remember(target.remembered);', to: '' }],
  // Links that were up when a site moved were not told.
  'untold-move': [
    {
      file: 'router/link/configured-links.ts',
      from: "for (const link of this.#host.links.all) if (link.state === 'up') this.#tell(link);",
      to: '',
    },
  ],
  // Links that came up later were not told.
  'untold-newcomer': [
    {
      file: 'router/link/configured-links.ts',
      from: 'linkUp(link: Link): void {\n    this.#ended.delete(endKey(link.dialed, link.peer.site.id));\n    this.#tell(link);',
      to: 'linkUp(link: Link): void {\n    this.#ended.delete(endKey(link.dialed, link.peer.site.id));',
    },
  ],
  // What was told was kept, and not tried.
  'unused-places': [
    {
      file: 'router/link/dial/link-target.ts',
      from: 'const told = learned === undefined ? [] : this.ofLearned(learned);',
      to: 'const told: readonly LinkEndpoint[] = [];',
    },
  ],
  // Who came while more was held than should be was passed on before it was known who gives way.
  flood: [
    { file: 'router/routing/intake.ts', from: 'if (isStranger && database.crowded) this.#onTrial.add(head.id);', to: '' },
    COMES_AGAIN,
  ],
  // Who had given way was taken in whenever he was told of again: of three each may have to give way to the next.
  'comes-again': [COMES_AGAIN],
  // Of those who cannot be reached the oldest gave way: whoever was told of again seemed younger than he was.
  'told-younger': [
    {
      file: 'router/routing/room.ts',
      from: 'left.cost - right.cost || (left.router.id',
      to: 'left.cost - right.cost || (left.cost === UNREACHABLE ? right.router.made - left.router.made : 0) || (left.router.id',
    },
    COMES_AGAIN,
  ],
  // A socket that is being shut down was reset: Node.js never closes it.
  'reset-at-end': [
    { file: 'router/local/socket-end.ts', from: 'if (isEnding(socket)) resetAfterEnd(socket, raw);\n  else resetNow', to: 'resetNow' },
  ],
  // Over TLS one whose end was on its way was only closed: its peer had that end, and was not told of the reset.
  'closed-at-end': [
    {
      file: 'router/local/socket-end.ts',
      from: 'if (socket !== raw) setImmediate(',
      to: 'if (socket !== raw) ((run: () => void) => run())(',
    },
  ],
  // A path led to whoever says that it is linked, whether the other end says so or not.
  'one-sided': [{ file: 'router/routing/graph.ts', from: 'if (place < first || place >= end) continue;', to: '' }],
  // Whoever was farthest gave way, however many routers a nearer site had invented.
  'others-room': [
    {
      file: 'router/routing/room.ts',
      from: 'const lost = rest.filter(isLost).toReversed();',
      to:
        'const lost = [...rest.filter(isLost).toReversed(), ' +
        '...rest.filter((one) => !isLost(one) && one.router.id !== self && !spared.has(one.router.id)).toReversed()];',
    },
  ],
  // A cost that changed while a link was being opened was forgotten.
  'old-cost': [
    { file: 'router/link/dial/dialer.ts', from: '    this.#tellCost();\n    if (old !== undefined)', to: '    if (old !== undefined)' },
  ],
  // A peer that says nothing any more is not given up.
  'dead-peers': [{ file: 'router/link/session/liveness.ts', from: "if (found === 'dead') {", to: 'if (false) {' }],
  // A link was given up after 2.1 s of silence, as where paths are fast and nothing ever pauses.
  laboratory: [
    { file: 'router/link/session/liveness-rule.ts', from: 'deadAfter: 30_000', to: 'deadAfter: 2_100' },
    { file: 'router/link/session/liveness-rule.ts', from: '= [2, 4];', to: '= [0, 0];' },
  ],
  // What each step of opening a link may take was too short for round trips of 2 s.
  'short-steps': [{ file: 'router/deadlines.ts', from: 'step: 30_000', to: 'step: 5_000' }],
  // A router that comes back in the past does not go beyond what it said in the future.
  'past-epoch': [
    { file: 'router/routing/routing.ts', from: 'this.#contestedEpoch = Math.max(this.#contestedEpoch, epoch);', to: 'void epoch;' },
  ],
  // Whoever renews its access cuts what came in by the old certificate.
  'renewed-access': [
    {
      file: 'router/link/accept/access.ts',
      from: 'this.#take(config, sharesPort);',
      to: "const isOld = !sameBundle(this.#config.tls, config.tls); this.#take(config, sharesPort); if (isOld) for (const incoming of this.#incoming) incoming.cut(new LinkError('closed', 'x'));",
    },
  ],
  // A request that was answered after its connection had ended was waited for.
  'answered-late': [
    {
      file: 'router/http2/session.ts',
      from: "if (this.#state !== 'closed') this.#lingering.add(stream);",
      to: 'this.#lingering.add(stream);',
    },
  ],
  // Whoever is linked anew was told of the network when all is compared, and not at once.
  'no-greeting': [{ file: 'router/routing/exchange.ts', from: 'if (begins) this.summarize(link);', to: '' }],
  // What changes was told to whoever is near, and to others when all is compared.
  'no-flood': [{ file: 'router/routing/routing.ts', from: 'this.#flood(taken, link);', to: '' }],
  // Whoever revokes a site went on passing on what is open of it.
  'passing-revoked': [
    {
      file: 'router/router.ts',
      from: 'for (const passing of this.#passing) if (this.isRevoked({ path: pathOf(passing.head.fields) })) passing.cut();',
      to: '',
    },
  ],
  // Whoever revokes a site let in what came of it by way of others.
  'revoked-path': [
    {
      file: 'router/router.ts',
      from: 'const revoked = revokedOf({ ...from, path: pathOf(head.fields) }, this.#revoked);',
      to: 'const revoked = revokedOf(from, this.#revoked);',
    },
  ],
  // A router that is joined by another one on its machine kept its ports to itself.
  'unshared-ports': [
    { file: 'router/link/configured-links.ts', from: 'known.apply(access, sharesPorts)', to: 'known.apply(access, false)' },
  ],
  // What had ended stayed a part of its key's share of a link.
  'kept-streams': [
    { file: 'router/http2/session.ts', from: 'if (stream.whose !== undefined) this.shares.change(stream.whose, -1);', to: '' },
  ],
  // What had been left stayed a part of its owner's share of memory, also once it was answered.
  'kept-requests': [{ file: 'router/http2/session.ts', from: 'if (stream.isLeft) this.#charge(stream, -STREAM_COST);', to: '' }],
  // What had passed a router on its way stayed a part of its owner's share.
  'kept-share': [{ file: 'router/link/relay.ts', from: 'this.#memory.delete(this.#client);', to: '' }],
  // A site that had its share of memory could not link again for as long as its connections lasted.
  'no-room': [{ file: 'router/memory/memory.ts', from: " || (kind === 'peer' && this.#makeRoom(owner, cost))", to: '' }],
  // Where memory was used up, only the client's end of a connection was ended.
  'let-go-halves': [{ file: 'router/side.ts', from: 'this.onReset(why);\n  }\n\n  #waiting', to: '}\n\n  #waiting' }],
  // Paths for which there was no time were not found later.
  'old-paths': [
    { file: 'router/routing/answers.ts', from: 'if (this.isBehind && this.#time.wait(this.#clock()) === 0)', to: 'if (false)' },
  ],
  // A standard client whose site is revoked stayed: it has no link that could be cut.
  'revoked-visitor': [
    {
      file: 'router/link/accept/access.ts',
      from: 'if (!this.#host.isRevoked(incoming.peer)) continue;',
      to: 'if (incoming.siteId === undefined || !this.#host.isRevoked(incoming.peer)) continue;',
    },
  ],
  // Other sites were not told with whose certificate a standard client came in.
  'unnamed-visitor': [
    { file: 'router/via.ts', from: 'site === undefined ? (certificate?.sites ?? NONE) : [site]', to: 'site === undefined ? NONE : [site]' },
  ],
  // What standard clients had open when an access was taken away stayed.
  'ended-visitor': [
    {
      file: 'router/link/accept/access.ts',
      from: "for (const incoming of this.#incoming) incoming.cut(new LinkError('closed', 'This access has been closed.'));",
      to: "for (const incoming of this.#incoming) incoming.link?.cut(new LinkError('closed', 'This access has been closed.'));",
    },
  ],
  // Connections went on under certificates of an access that are too old.
  'kept-revisions': [
    { file: 'router/link/accept/access.ts', from: '  #cutOutdated(): void {\n', to: '  #cutOutdated(): void {\n    return;\n' },
  ],
  // Whose handshake ended after the certificate of an access was replaced was taken for one that had been shown the new one.
  'late-revision': [
    { file: 'router/link/accept/access.ts', from: 'this.#accept(socket, revision)', to: 'this.#accept(socket, this.#revisions.now)' },
  ],
  // An endpoint that cannot be reached kept a link from those after it.
  'one-endpoint': [
    {
      file: 'router/link/dial/dial-endpoints.ts',
      from: 'if (signal.aborted || !(error instanceof LinkError)) {',
      to: 'if (signal.aborted || error instanceof Error) {',
    },
  ],
  // Whoever begins a TLS handshake with an access may take two minutes.
  'endless-handshake': [{ file: 'router/link/accept/access.ts', from: 'handshakeTimeout: deadlines.step,', to: '' }],
  // Clients that come and go at once had the next router take this one for one that resets streams without end.
  'own-early-resets': [{ file: 'router/http2/session.ts', from: 'if (!isEarly || this.#ownEarlyResets.take())', to: 'if (true)' }],
  // Many short streams were taken for frames that bring nothing, by which each of them ends.
  'idle-ends': [{ file: 'router/http2/inbound.ts', from: 'if (this.#isEmpty && !endStream)', to: 'if (this.#isEmpty)' }],
  // An answer that crossed the reset of its stream was one out of turn, once enough other streams had gone.
  'crossed-answers': [
    { file: 'router/http2/inbound.ts', from: "if (this.#core.role === 'client' && !this.#isIdle(streamId)) return;", to: '' },
  ],
  // A certificate that was revoked while it was being renewed had a successor.
  'renewed-revoked': [
    { file: 'trust/revocation.ts', from: "if (basis?.kind === 'renewal') refuseRenewal(basis.serial, siteId, siteName, revoked);", to: '' },
  ],
  // What had begun by a certificate that was renewed ended with it.
  'renewed-links': [
    {
      file: 'router/link/accept/access.ts',
      from: 'if (incoming.expires > now || this.#host.links.vouchFor(incoming.siteId, false, now)) continue;',
      to: 'if (incoming.expires > now) continue;',
    },
  ],
  // A renewal that somebody had asked for was begun again at once for as long as its answer could not be written.
  'asked-again': [{ file: 'agent/renewals.ts', from: ' && !busy.has(name) && !answered.has(linkOf(link))', to: '' }],
  // What came of a renewal took the place of a certificate that had come meanwhile.
  'replaced-meanwhile': [{ file: 'agent/renewals.ts', from: 'if (!sameBundle(kept, await bundles.get(tls.name)))', to: 'if (false)' }],
  // Certificates were renewed as often as somebody asked.
  'no-pace': [{ file: 'trust/renewal-pace.ts', from: 'if (underWay || until > now) {', to: 'if (underWay) {' }],
  // A link whose renewal had ended, well or not, was never renewed again.
  'never-again': [{ file: 'agent/renewals.ts', from: 'this.#running.delete(name);', to: '' }],
  // Whoever reads the line by which a router of the same site says what it wants took what follows for another line.
  'second-line': [
    {
      file: 'router/link/accept/sibling-access.ts',
      from: "socket.removeListener('readable', onReadable);\n    resolve(whole);",
      to: 'resolve(whole);',
    },
  ],
};
