//! Things with a number that is used again after them.

#[derive(Debug)]
pub(super) struct Slab<T> {
    items: Vec<Option<T>>,
    free: Vec<u32>,
}

impl<T> Slab<T> {
    pub fn new() -> Slab<T> {
        Slab { items: Vec::new(), free: Vec::new() }
    }

    pub fn insert(&mut self, item: T) -> u32 {
        match self.free.pop() {
            Some(at) => {
                self.items[at as usize] = Some(item);
                at
            }
            None => {
                self.items.push(Some(item));
                self.items.len() as u32 - 1
            }
        }
    }

    pub fn get(&self, at: u32) -> &T {
        self.items[at as usize].as_ref().expect("the number is in use")
    }

    pub fn get_mut(&mut self, at: u32) -> &mut T {
        self.items[at as usize].as_mut().expect("the number is in use")
    }

    pub fn remove(&mut self, at: u32) -> T {
        let item = self.items[at as usize].take().expect("the number is in use");
        self.free.push(at);
        item
    }

    pub fn len(&self) -> usize {
        self.items.len() - self.free.len()
    }
}
