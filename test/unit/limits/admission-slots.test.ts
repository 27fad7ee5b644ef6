import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { AdmissionSlots } from '../../../src/limits/admission-slots.ts';

describe('fair places', () => {
  it('admit a new member without an eviction while slots are free', () => {
    const places = new AdmissionSlots<string>({ most: 3, mostOfGroup: 2 });
    assert.deepEqual([places.enter('a1', 'a'), places.enter('a2', 'a'), places.enter('b1', 'b')], [undefined, undefined, undefined]);
    assert.equal(places.size, 3);
  });

  it('let the oldest of the group go that has most of them, once all are taken', () => {
    const places = new AdmissionSlots<string>({ most: 4, mostOfGroup: 4 });
    for (const member of ['b1', 'a1', 'a2', 'a3']) places.enter(member, member.slice(0, 1));
    assert.equal(places.enter('c1', 'c'), 'a1');
    assert.equal(places.enter('d1', 'd'), 'a2');
    assert.equal(places.size, 4);
  });

  it('let the oldest of its own group go where that has all that one may have', () => {
    const places = new AdmissionSlots<string>({ most: 10, mostOfGroup: 2 });
    for (const member of ['b1', 'b2', 'a1', 'a2']) places.enter(member, member.slice(0, 1));
    assert.equal(places.enter('a3', 'a'), 'a1');
    assert.equal(places.enter('a4', 'a'), 'a2');
  });

  it('have a fair slot for a group while one is free, or another group has at least two more members', () => {
    const places = new AdmissionSlots<string>({ most: 4, mostOfGroup: 4 });
    for (const member of ['a1', 'a2', 'a3']) places.enter(member, 'a');
    assert.ok(places.hasFairSlot('a'));
    places.enter('a4', 'a');
    assert.deepEqual([places.hasFairSlot('a'), places.hasFairSlot('b')], [false, true]);
    for (const member of ['b1', 'b2']) places.enter(member, 'b');
    assert.deepEqual([places.hasFairSlot('a'), places.hasFairSlot('b'), places.hasFairSlot('c')], [false, false, true]);
    places.enter('c1', 'c');
    assert.equal(places.hasFairSlot('d'), true);
    places.enter('d1', 'd');
    assert.equal(places.hasFairSlot('e'), false);
  });

  it('have room again for each that left, whether it had a place or not', () => {
    const places = new AdmissionSlots<string>({ most: 1, mostOfGroup: 1 });
    places.enter('a1', 'a');
    places.leave('a1');
    places.leave('a1');
    places.leave('unknown');
    assert.equal(places.enter('a2', 'a'), undefined);
    assert.equal(places.enter('b1', 'b'), 'a2');
    places.leave('a2');
    assert.equal(places.size, 1);
  });

  describe('where each is of a group of its own', () => {
    const heard = new Set<string>();
    const full = (members: readonly string[]): AdmissionSlots<string> => {
      heard.clear();
      const places = new AdmissionSlots<string>({ most: members.length, mostOfGroup: 2 }, (member) => heard.has(member));
      for (const member of members) places.enter(member, member);
      return places;
    };

    it('let those go first who have said nothing', () => {
      const places = full(['a', 'b', 'c', 'd']);
      heard.add('a').add('c');
      assert.deepEqual(
        ['e', 'f', 'g'].map((member) => places.enter(member, member)),
        ['b', 'd', 'e'],
      );
    });

    it('evict a member that has sent data if such members hold more than half of all slots', () => {
      const places = full(['a', 'b', 'c', 'd']);
      for (const member of ['a', 'b', 'c']) heard.add(member);
      assert.equal(places.enter('e', 'e'), 'a');
      heard.add('e');
      assert.equal(places.enter('f', 'f'), 'd');
      assert.equal(places.enter('g', 'g'), 'b');
    });

    it('let the oldest go where all have said something', () => {
      const places = full(['a', 'b']);
      heard.add('a').add('b').add('c');
      assert.deepEqual([places.enter('c', 'c'), places.enter('d', 'd')], ['a', 'b']);
    });
  });
});
