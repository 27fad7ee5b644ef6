import assert from 'node:assert/strict';
import { test } from 'node:test';
import { annotation, label } from '../../../../src/api/skupper/cluster-names.ts';
import { desiredCertificate, type DesiredCertificate } from '../../../../src/site-controller/trust/certificate-object.ts';
import { certificate, site } from '../support/trust-world.ts';
import { viewOf } from '../support/view.ts';

const [one, other] = [site({}, 'a'), site({}, 'b')];
const desired: DesiredCertificate = {
  name: 'skupper-site-server',
  ca: 'skupper-site-ca',
  subject: 'skupper-router',
  server: true,
  owners: [
    { owner: one, hosts: ['10.0.0.1', 'skupper-router'] },
    { owner: other, hosts: ['10.0.0.1', 'another'] },
  ],
  for: 'Site/west',
};

test("a Certificate of the controller's own has the hosts of all its owners, each in an annotation of its own", () => {
  const { objects, problems } = desiredCertificate(viewOf([one]), desired);
  const [desiredObject] = objects;
  assert.deepEqual(problems, []);
  assert.deepEqual(desiredObject?.object.metadata.annotations, {
    [annotation.controlled]: 'true',
    [`${annotation.hosts}-a`]: '10.0.0.1,skupper-router',
    [`${annotation.hosts}-b`]: '10.0.0.1,another',
  });
  assert.deepEqual(desiredObject?.object.metadata.labels, { [label.certificate]: 'true' });
  assert.deepEqual(
    desiredObject?.object.metadata.ownerReferences?.map(({ kind, uid }) => [kind, uid]),
    [
      ['Site', 'a'],
      ['Site', 'b'],
    ],
  );
  assert.ok(desiredObject !== undefined && 'spec' in desiredObject.object);
  assert.deepEqual(desiredObject.object.spec, {
    ca: 'skupper-site-ca',
    subject: 'skupper-router',
    client: false,
    server: true,
    signing: false,
    hosts: ['10.0.0.1', 'another', 'skupper-router'],
  });
});

test("a person's Certificate of the name is left alone and reported; one of an earlier controller is adopted", () => {
  const { objects, problems } = desiredCertificate(viewOf([one, certificate('skupper-site-server')]), desired);
  assert.deepEqual(objects, []);
  assert.match(problems[0]?.message ?? '', /^certificate "skupper-site-server" exists but is not controlled by skupper/);
  assert.equal(problems[0]?.resource, 'Site/west');
  const left = certificate('skupper-site-server', {}, { annotations: { [annotation.controlled]: 'true' } });
  assert.equal(desiredCertificate(viewOf([one, left]), desired).objects.length, 1);
});
